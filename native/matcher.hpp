// Which of one thread's clauses fire on the current example, and on which literals they learn.
#pragma once

#include "clauses.hpp"
#include "miss_counts.hpp"
#include "patch_literals.hpp"
#include "train_task.hpp"

namespace cotm {

// A clause is matched with a block of examples ahead, and again when its literals change, which is
// seldom. The result is the same as that of matching one example after the other.
class Matcher {
 public:
  // asleep: a bit per local clause, those that fire on nothing in this pass.
  Matcher(Clauses& clauses, ClauseRange range, const uint64_t* asleep);

  // Goes to the example at `turn` of the task. The first call may name any turn; each later one
  // names the next.
  // Returns a bit per local clause: whether it fires.
  const uint64_t* match(const TrainTask& task, size_t turn);

  // Whether it reads a new block of examples for that turn.
  bool opens_block(size_t turn) const { return turn >= block_end_; }

  // What the clauses say of that example, where misses are counted; else null.
  const uint16_t* grades() const { return misses_.is_used() ? grades_.data() : nullptr; }

  // Where they are not, what clauses say are numbers: bit k of each, a bit per local clause.
  uint32_t planes() const { return clauses_.lists.planes(); }
  const uint64_t* plane(uint32_t k) const { return at(k, position_); }

  // The literals a clause that fires learns from: those of the example, or of one of the
  // patches of which the clause says the most.
  const uint64_t* truth(uint32_t local, uint64_t step_key);

  // A clause's literals have changed, and its list with them.
  void list_changed(uint32_t local, ListChange change);

  // Whether misses are counted. Then `move` is told which literals joined a clause or left it, and
  // its list need not follow, but for `list_all` at the end.
  bool counts_misses() const { return misses_.is_used(); }
  void move(uint32_t local, const std::vector<uint32_t>& joined, const std::vector<uint32_t>& left);
  void list_all() { misses_.list_all(); }

 private:
  void match_block(const TrainTask& task, size_t turn);
  const uint64_t* grade();
  void match_graded(uint32_t local, const uint64_t* open);
  // Where a plane, or after the last of them the clauses that fire at all, lie for an example.
  const uint64_t* at(uint32_t k, size_t example) const {
    return fires_.data() + (k * layout_.examples() + example) * range_.words();
  }
  uint64_t* at(uint32_t k, size_t example) {
    return fires_.data() + (k * layout_.examples() + example) * range_.words();
  }
  // Strict clauses have one plane, which says who fires.
  uint32_t fires_plane() const { return planes() == 1 ? 0 : planes(); }

  Clauses& clauses_;
  const BlockLayout& layout_;
  ClauseRange range_;
  const uint64_t* asleep_;
  PatchLiterals literals_;
  ExampleBlock block_;
  size_t block_end_ = 0;  // the first turn after the block, 0 before the first block
  size_t position_ = 0;   // of the current example in the block
  // What the clauses say of the examples of the block: [clause][planes][groups].
  Buffer<uint64_t> ahead_;
  // The same by example, and for graded clauses which of them fire: see at().
  Buffer<uint64_t> fires_;
  std::vector<uint32_t> patches_;  // that satisfy a clause
  MissCounts misses_;              // instead of the two
  std::vector<uint16_t> grades_;
};

}  // namespace cotm
