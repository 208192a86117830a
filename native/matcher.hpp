// Which of one thread's clauses fire on the current example, and on which literals they learn.
#pragma once

#include "machine.hpp"

namespace cotm {

// A range of a machine's clauses; "local" clause numbers count from its first.
struct ClauseRange {
  uint32_t first, count;
  size_t words() const { return (count + 63) / 64; }  // of a bit per clause
};

class Matcher {
 public:
  virtual ~Matcher() = default;

  // Goes to the example at `turn` of the task; turns come one after the other from 0.
  // Returns a bit per local clause: whether it fires.
  virtual const uint64_t* match(const TrainTask& task, size_t turn) = 0;

  // The literals a clause that fires learns from.
  virtual const uint64_t* truth(uint32_t local, uint64_t step_key) = 0;

  // A clause's include list has changed by `flipped`, to `include`.
  virtual void list_changed(uint32_t local, const uint64_t* include, const uint64_t* flipped) = 0;
};

// Convolution: each example's patches, as masks per literal.
class PatchMatcher final : public Matcher {
 public:
  PatchMatcher(Machine& machine, ClauseRange range);
  const uint64_t* match(const TrainTask& task, size_t turn) override;
  const uint64_t* truth(uint32_t local, uint64_t step_key) override;
  void list_changed(uint32_t, const uint64_t*, const uint64_t*) override {}

 private:
  Machine& machine_;
  ClauseRange range_;
  Literals literals_;
  std::vector<uint64_t> fires_;
  std::vector<uint32_t> fired_before_;  // per word of fires_: firing clauses before it
  Buffer<uint64_t> left_;               // matching patches of the clauses that fire
};

// Flat examples: a clause is matched with the next 512 examples at once, and again when its
// list changes, which is seldom. The result does not differ from matching one by one.
class FlatMatcher final : public Matcher {
 public:
  FlatMatcher(Machine& machine, ClauseRange range);
  const uint64_t* match(const TrainTask& task, size_t turn) override;
  const uint64_t* truth(uint32_t local, uint64_t step_key) override;
  void list_changed(uint32_t local, const uint64_t* include, const uint64_t* flipped) override;

 private:
  void match_block(const TrainTask& task, size_t turn);

  Machine& machine_;
  ClauseRange range_;
  Literals literals_;
  FlatBlock block_;
  size_t position_ = 0;     // of the current example in the block
  Buffer<uint64_t> ahead_;  // [clause][8]: the examples of the block it fires on
  Buffer<uint64_t> fires_;  // the same by example: [512][clause words]
};

std::unique_ptr<Matcher> make_matcher(Machine& machine, ClauseRange range);

}  // namespace cotm
