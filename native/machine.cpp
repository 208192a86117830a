#include "machine.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <shared_mutex>
#include <stdexcept>

namespace cotm {

Machine::Machine(const Spec& spec, const Kernels& kernels, const int8_t* memory,
                 const int32_t* weights)
    : clauses_(spec, kernels, memory, weights) {}

void Machine::votes(const Examples& examples, unsigned threads, int64_t* out) const {
  const std::shared_lock<StateLock> lock(state_lock_);
  require_whole();
  compiled().votes(examples, threads, out);
}

template <class T>
void Machine::clause_outputs(const Examples& examples, unsigned threads, T* out) const {
  const std::shared_lock<StateLock> lock(state_lock_);
  require_whole();
  compiled().clause_outputs(examples, threads, out);
}

template void Machine::clause_outputs(const Examples&, unsigned, bool*) const;
template void Machine::clause_outputs(const Examples&, unsigned, int32_t*) const;

void Machine::state(int8_t* memory, int32_t* weights) const {
  const std::shared_lock<StateLock> lock(state_lock_);
  require_whole();
  clauses_.copy_to(memory, weights);
}

void Machine::mark() {
  const std::unique_lock<StateLock> lock(state_lock_);
  require_whole();
  Buffer<uint8_t>& touched = clauses_.touched;
  if (!marked_memory_.size()) {
    Buffer<int8_t> memory(clauses_.memory.size());
    marked_weights_ = Buffer<int32_t>(clauses_.weights.size());
    marked_memory_ = std::move(memory);
    std::fill_n(touched.data(), touched.size(), uint8_t{1});
  }
  copy_touched(clauses_.memory.data(), clauses_.weights.data(), marked_memory_.data(),
               marked_weights_.data());
  std::fill_n(touched.data(), touched.size(), uint8_t{0});
}

void Machine::undo() {
  const std::unique_lock<StateLock> lock(state_lock_);
  if (!marked_memory_.size()) throw std::logic_error("there is no mark to go back to");
  copy_touched(marked_memory_.data(), marked_weights_.data(), clauses_.memory.data(),
               clauses_.weights.data());
  clauses_.wake_allowed();
  for (size_t j = 0; j < clauses_.spec.n; ++j) {
    // No list gets longer than it was, so that none allocates.
    if (clauses_.touched[j]) clauses_.list_literals(j, clauses_.scratch.data());
    clauses_.touched[j] = 0;
  }
  compiled_.reset();
  ++changes_;
  whole_ = true;
}

void Machine::renew_locks() {
  new (&state_lock_) StateLock;
  new (&compile_mutex_) std::mutex;
}

void Machine::Change::announce() {
  machine_.compiled_.reset();
  ++machine_.changes_;
}

const CompiledModel& Machine::compiled() const {
  const std::lock_guard<std::mutex> lock(compile_mutex_);
  if (!compiled_) compiled_ = std::make_unique<const CompiledModel>(clauses_);
  return *compiled_;
}

void Machine::copy_touched(const int8_t* memory, const int32_t* weights, int8_t* to_memory,
                           int32_t* to_weights) const {
  const size_t entries = clauses_.row_entries(), m = clauses_.spec.m;
  for (size_t j = 0; j < clauses_.spec.n; ++j) {
    if (!clauses_.touched[j]) continue;
    std::memcpy(to_memory + j * entries, memory + j * entries, entries);
    std::memcpy(to_weights + j * m, weights + j * m, m * sizeof(int32_t));
  }
}

void Machine::require_whole() const {
  if (!whole_) {
    throw std::logic_error("training failed midway: undo() goes back to the marked state");
  }
}

}  // namespace cotm
