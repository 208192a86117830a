// Which of one thread's clauses fire on the current example, and on which literals they learn.
#pragma once

#include "clauses.hpp"
#include "patch_literals.hpp"
#include "train_task.hpp"

namespace cotm {

// A clause is matched with a block of examples ahead, and again when its literals change, which is
// seldom. The result is the same as that of matching one example after the other.
class Matcher {
 public:
  Matcher(Clauses& clauses, ClauseRange range);

  // Goes to the example at `turn` of the task. The first call may name any turn; each later one
  // names the next.
  // Returns a bit per local clause: whether it fires.
  const uint64_t* match(const TrainTask& task, size_t turn);

  // The literals a clause that fires learns from: those of the example, or of one of the
  // patches that satisfy the clause.
  const uint64_t* truth(uint32_t local, uint64_t step_key);

  // A clause's literals have changed.
  void list_changed(uint32_t local, ListChange change);

 private:
  void match_block(const TrainTask& task, size_t turn);

  Clauses& clauses_;
  const BlockLayout& layout_;
  ClauseRange range_;
  PatchLiterals literals_;
  ExampleBlock block_;
  size_t block_end_ = 0;           // the first turn after the block, 0 before the first block
  size_t position_ = 0;            // of the current example in the block
  Buffer<uint64_t> ahead_;         // [clause][groups]: the examples of the block it fires on
  Buffer<uint64_t> fires_;         // the same by example: [example][clause words]
  std::vector<uint32_t> patches_;  // that satisfy a clause
};

}  // namespace cotm
