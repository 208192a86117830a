// A machine: its clauses, who may read or change them when, and the way back to a marked state.
// Nothing in these files knows Python.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>

#include "clauses.hpp"
#include "examples.hpp"
#include "predictor.hpp"
#include "state_lock.hpp"

namespace cotm {

class Machine {
 public:
  // memory: [n][2o], the features' literals first and then their negations'.
  Machine(const Spec& spec, const Kernels& kernels, const int8_t* memory, const int32_t* weights);

  void votes(const Examples& examples, unsigned threads, int64_t* out) const;  // [example][m]
  // [example][n]; T is bool for strict clauses, else int32_t.
  template <class T>
  void clause_outputs(const Examples& examples, unsigned threads, T* out) const;
  void state(int8_t* memory, int32_t* weights) const;

  // Remembers the state. `undo` goes back to it, also after training that failed midway, and needs
  // no memory for it.
  void mark();
  void undo();

  // For a forked child, in which the threads that held the locks do not exist, nor any other.
  void renew_locks();

  const Spec& spec() const { return clauses_.spec; }
  const Kernels& kernels() const { return clauses_.kernels; }
  const BlockLayout& layout() const { return clauses_.layout; }

  // Has the clauses of a machine to itself, to change them.
  class Change {
   public:
    explicit Change(Machine& machine) : machine_(machine), lock_(machine.state_lock_) {
      machine.require_whole();
    }
    Clauses& clauses() { return machine_.clauses_; }
    uint64_t count() const { return machine_.changes_; }  // of changes so far
    void announce();                                      // before the clauses change
    // From begin() until end() the state is not whole: the machine can only be undone.
    void begin() { machine_.whole_ = false; }
    void end() { machine_.whole_ = true; }

   private:
    Machine& machine_;
    std::unique_lock<StateLock> lock_;
  };

 private:
  const CompiledModel& compiled() const;
  void require_whole() const;
  // The rows and the weights of clauses touched since the mark, from one state to another.
  void copy_touched(const int8_t* memory, const int32_t* weights, int8_t* to_memory,
                    int32_t* to_weights) const;

  Clauses clauses_;
  mutable std::unique_ptr<const CompiledModel> compiled_;  // until the clauses change

  bool whole_ = true;             // false once training failed midway
  uint64_t changes_ = 0;          // how often the clauses have been changed
  Buffer<int8_t> marked_memory_;  // empty before the first mark
  Buffer<int32_t> marked_weights_;

  // Python threads may train and predict at once: training has the state to itself.
  mutable StateLock state_lock_;
  mutable std::mutex compile_mutex_;
};

}  // namespace cotm
