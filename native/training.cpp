#include "training.hpp"

#include <algorithm>

namespace cotm {

Training::Slice Training::run(size_t first, size_t last, unsigned threads) {
  Machine::Change change(machine_);
  if (first == last) return {};
  if (first != done_ || changes_ != change.count()) trainers_.clear();
  const Spec& spec = machine_.spec();
  const uint32_t width = task_.width(spec.m);
  bool anew = false;
  const auto begin = [&](unsigned count) {
    anew = trainers_.size() != count;
    if (!anew) return;
    trainers_.clear();
    board_ = VoteBoard(count, width);
    trainers_.resize(count);
  };
  const auto work = [&](unsigned t, Barrier& barrier) {
    if (spec.drop_literals) {
      if (t == 0) {
        change.begin();
        change.clauses().sleep(task_.step);
      }
      if (!barrier.wait()) return;
    }
    // Here, so that every thread is the first to touch its own memory.
    if (!trainers_[t]) {
      trainers_[t] = std::make_unique<Trainer>(
          change.clauses(), t, static_cast<unsigned>(trainers_.size()), task_, width);
    }
    if (!barrier.wait()) return;
    if (t == 0) change.begin();
    trainers_[t]->run(task_, first, last, board_, barrier);
  };
  change.announce();
  try {
    run_threads(std::min(threads, spec.n), begin, work);
  } catch (...) {
    trainers_.clear();
    throw;
  }
  change.clauses().wake();
  change.end();
  done_ = last;
  changes_ = change.count();
  return {.counts = trainers_[0]->counts(), .anew = anew};
}

}  // namespace cotm
