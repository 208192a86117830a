// A training step, for one thread's clauses. Only votes cross threads, so there is one barrier per
// example, and the result does not depend on the number of threads.
#pragma once

#include <cstdint>
#include <vector>

#include "feedback.hpp"
#include "matcher.hpp"
#include "selection.hpp"
#include "threads.hpp"
#include "votes.hpp"
#include "weights.hpp"

namespace cotm {

class Trainer {
 public:
  // For a task, of which no example asks more outputs than `width`.
  Trainer(Clauses& clauses, unsigned thread, unsigned threads, const TrainTask& task,
          uint32_t width);

  // Turns [first, last) of the task; the next call goes on at `last`. Between two calls no
  // feedback is owed. Ends early if the barrier breaks.
  void run(const TrainTask& task, size_t first, size_t last, VoteBoard& board, Barrier& barrier);

  const TrainCounts& counts() const { return counts_; }  // of the last run, the same in each thread

 private:
  void vote(const Asked& asked, int64_t* votes);
  void add_votes(const int32_t* weights, uint32_t m, int64_t* votes) const;
  void count(const Asked& asked);
  void give_feedback(const Asked& asked, const uint8_t* wanted, uint64_t step_key);
  void prefetch(uint32_t local) const;

  Clauses& clauses_;
  const Spec& spec_;
  unsigned thread_;
  ClauseRange range_;                   // the clauses of this thread
  const std::vector<uint64_t> asleep_;  // bit per own clause
  Matcher matcher_;
  ClauseWeights weights_;
  Wishes wishes_;
  Selection selection_;
  RowUpdater rows_;
  const uint64_t* fires_ = nullptr;  // bit per own clause
  std::vector<int64_t> total_;       // votes of all clauses, by place
  std::vector<Key> keys_;            // of the outputs that give a clause Type I
  TrainCounts counts_;
};

}  // namespace cotm
