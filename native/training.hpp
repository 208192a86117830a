// A pass over examples in slices, by several threads that share the clauses.
#pragma once

#include <memory>
#include <vector>

#include "machine.hpp"
#include "trainer.hpp"

namespace cotm {

// What the threads have made of a block of examples is kept from one slice to the next. Examples
// and arrays of the task must outlive it.
class Training {
 public:
  Training(Machine& machine, const TrainTask& task) : machine_(machine), task_(task) {}

  // Learns from order[first], ..., order[last - 1]. Any slices will do; one that goes on where
  // the last one ended, with as many threads and no other training in between, costs no start.
  struct Slice {
    TrainCounts counts;
    bool anew = false;  // it paid the start
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
