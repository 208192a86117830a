// Training: each thread owns a range of clauses. Only votes cross threads, so there is one
// barrier per example, and the result does not depend on the number of threads.
#pragma once

#include "debts.hpp"
#include "matcher.hpp"
#include "threads.hpp"

namespace cotm {

// Votes of each thread's clauses, for the current example and the next.
class VoteBoard {
 public:
  VoteBoard() = default;
  VoteBoard(unsigned threads, size_t m)
      : threads_(threads), m_(m), stride_((m + 7) / 8 * 8), votes_(2 * threads * stride_) {}
  int64_t* of(unsigned thread, size_t turn) {
    return votes_.data() + (turn % 2 * threads_ + thread) * stride_;
  }
  void sum(size_t turn, int64_t* total);

 private:
  unsigned threads_ = 0;
  size_t m_ = 0, stride_ = 0;
  Buffer<int64_t> votes_;
};

class Trainer {
 public:
  Trainer(Machine& machine, unsigned thread, unsigned threads);
  // Turns [first, last) of the task; the next call goes on at `last`. Between two calls no
  // feedback is owed. Ends early if the barrier breaks.
  void run(const TrainTask& task, size_t first, size_t last, VoteBoard& board, Barrier& barrier);
  TrainCounts counts;  // of the last call; the same in every thread

 private:
  // Stages of one step, named as in the reference backend.
  void count(const uint8_t* target);
  void select(const uint8_t* target, const uint64_t* scale, uint64_t key);
  void give_feedback(const uint8_t* target, uint64_t key);
  void prefetch(uint32_t local) const;
  int8_t* row_of(uint32_t local) const;
  RowBits bits();
  void move_weight(uint32_t local, uint32_t output, bool up);
  Feedback no_feedback() const;
  void update_row(Feedback& feedback, uint32_t local, uint64_t key);
  bool can_put_off(uint32_t local, uint32_t more) const;
  void put_off(uint32_t local, Key key);
  void pay(uint32_t local);
  void limit_literals(uint32_t clause, int8_t* row, uint64_t key);
  void choose_fresh(uint32_t clause, size_t room, uint64_t key);

  Machine& machine_;
  const Config& config_;
  const Kernels& kernels_;
  unsigned thread_;
  ClauseRange range_;    // the clauses of this thread
  size_t clause_words_;  // words of a bit per own clause
  Matcher matcher_;
  const uint64_t* fires_ = nullptr;                   // bit per own clause
  std::vector<int64_t> total_;                        // votes of all clauses
  int64_t largest_weight_ = 0;                        // of own clauses, in magnitude
  std::vector<uint64_t> negative_;                    // [m][clause_words]: weight < 0
  std::vector<uint32_t> active_;                      // outputs with a threshold above 0
  std::vector<uint64_t> type1_, type2_;               // [active][clause_words]
  std::vector<uint64_t> chosen_once_, chosen_again_;  // bit per own clause, by how many outputs
  std::vector<uint32_t> chooser_;  // per own clause: the first active output that chose it
  std::vector<uint32_t> chosen_;   // own clauses that get feedback
  std::vector<Key> keys_;
  std::vector<uint64_t> include_, flipped_, low_;     // see RowBits
  std::vector<uint64_t> admitted_;                    // new literals of a clause nearly full
  std::vector<std::pair<uint32_t, uint32_t>> fresh_;  // hash and literal of the same
  Debts debts_;                                       // of own clauses; none where rows are short
};

// A pass in slices: what the threads have made of a block of examples is kept from one slice to
// the next. Examples and arrays of the task must outlive it.
class Training {
 public:
  Training(Machine& machine, const TrainTask& task) : machine_(machine), task_(task) {}

  // Learns from order[first], ..., order[last - 1]. Any slices will do; one that goes on where
  // the last one ended, with as many threads and no other training in between, costs no start.
  struct Slice {
    TrainCounts counts;
    bool anew;  // it paid the start
  };
  Slice run(size_t first, size_t last, unsigned threads);

 private:
  Machine& machine_;
  TrainTask task_;
  VoteBoard board_;
  std::vector<std::unique_ptr<Trainer>> trainers_;  // one per thread, or none
  size_t done_ = 0;                                 // where the last slice ended,
  uint64_t changes_ = 0;                            // and the machine's count of changes then
};

}  // namespace cotm
