// Which of one thread's clauses fire on the current example, and on which literals they learn.
#pragma once

#include "machine.hpp"

namespace cotm {

// A range of a machine's clauses; "local" clause numbers count from its first.
struct ClauseRange {
  uint32_t first, count;
  size_t words() const { return (count + 63) / 64; }  // of a bit per clause
};

// A clause is matched with a block of examples to come, and again when its literals change,
// which is seldom. The result does not differ from matching one example after the other.
class Matcher {
 public:
  Matcher(Machine& machine, ClauseRange range);

  // Goes to the example at `turn` of the task; turns come one after the other, from any on.
  // Returns a bit per local clause: whether it fires.
  const uint64_t* match(const TrainTask& task, size_t turn);

  // The literals a clause that fires learns from: those of the example, or of one of the
  // patches that satisfy the clause.
  const uint64_t* truth(uint32_t local, uint64_t step_key);

  // A clause's literals have changed.
  void list_changed(uint32_t local, ListChange change);

 private:
  void match_block(const TrainTask& task, size_t turn);

  Machine& machine_;
  const BlockLayout& layout_;
  ClauseRange range_;
  Literals literals_;
  Block block_;
  size_t block_end_ = 0;           // the first turn after the block, 0 before the first block
  size_t position_ = 0;            // of the current example in the block
  Buffer<uint64_t> ahead_;         // [clause][groups]: the examples of the block it fires on
  Buffer<uint64_t> fires_;         // the same by example: [example][clause words]
  std::vector<uint32_t> patches_;  // that satisfy a clause
};

}  // namespace cotm
