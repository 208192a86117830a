// A machine's state in the layout the kernels want, and what reads it; trainer.hpp changes it.
// Nothing in these files knows Python.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "lists.hpp"
#include "state_lock.hpp"

namespace cotm {

struct Config {
  uint32_t n, m;
  Grid grid;
  int64_t T;
  uint32_t q;
  int32_t depth;  // N
  bool boost_true_positive, e_scales_type2;
  uint32_t max_literals;  // 0: no limit
  int32_t max_weight;
  bool sharing, learn_weights;
  uint64_t seed;
};

struct TrainCounts {
  uint64_t hits = 0;     // examples whose highest vote was for a target of 1
  uint64_t correct = 0;  // (example, output) pairs with (vote >= 0) == target
};

// A pass over examples. Rows of targets and scales are indexed by example, like the examples
// themselves.
struct TrainTask {
  const Examples& examples;
  const uint8_t* targets;  // [example][m]
  const uint64_t* scales;  // [example][2], or [1][2] for all
  bool one_scale;
  const int64_t* order;
  size_t count;
  uint64_t step;  // of order[0]
};

// What prediction needs of a machine, read only: the distinct clauses that can fire on
// something, first those that vote. Votes are summed in 16 bits where they fit: `ends` are the
// places between voters at which a sum might leave them.
struct CompiledModel {
  CompiledModel(const ClauseLists& all, const BlockLayout& layout, const int32_t* weights,
                size_t m);

  ClauseLists lists;
  std::vector<std::vector<uint32_t>> members;  // of every list, the machine's clauses
  size_t voters = 0;
  Buffer<int64_t> wide;    // [voter][m]
  Buffer<int16_t> narrow;  // the same, of use if is_narrow
  bool is_narrow;
  std::vector<size_t> ends;
};

class Machine {
 public:
  // memory: [n][2o], the features' literals first and then their negations'.
  Machine(const Config& config, const Kernels& kernels, const int8_t* memory,
          const int32_t* weights);

  void votes(const Examples& examples, unsigned threads, int64_t* out) const;        // [example][m]
  void clause_outputs(const Examples& examples, unsigned threads, bool* out) const;  // [example][n]
  void state(int8_t* memory, int32_t* weights) const;

  // Remembers the state; `undo` goes back to it, also after training that failed midway, and needs
  // no memory for it.
  void mark();
  void undo();

  // In a forked child, where the threads that held the locks are not; there is no other thread.
  void renew_locks();

  const BlockLayout& layout() const { return layout_; }
  ClauseLists& lists() { return lists_; }
  const Config& config() const { return config_; }
  const Kernels& kernels() const { return kernels_; }
  ~Machine();

 private:
  friend class Trainer;
  friend class Training;

  const CompiledModel& compiled() const;
  void require_whole() const;
  void list_literals(size_t clause);  // makes its list anew, from its row
  // The rows and the weights of clauses touched since the mark, from one state to another.
  void copy_touched(const int8_t* memory, const int32_t* weights, int8_t* to_memory,
                    int32_t* to_weights) const;

  Config config_;
  const Kernels& kernels_;
  BlockLayout layout_;
  size_t words_;  // of a row of literals as bits; a memory row has 64 bytes per word
  Buffer<int8_t> memory_;
  Buffer<int32_t> weights_;
  ClauseLists lists_;
  Buffer<uint32_t> spread_;   // hash32's view of each feature index
  Buffer<uint64_t> valid_;    // which literals of a row are not padding
  Buffer<uint64_t> include_;  // of one row, while its list is made
  mutable std::unique_ptr<const CompiledModel> compiled_;  // until training changes the state

  bool whole_ = true;             // false once training failed midway
  uint64_t changes_ = 0;          // how often the state has been changed
  Buffer<uint8_t> touched_;       // per clause: given feedback since the mark
  Buffer<int8_t> marked_memory_;  // empty before the first mark
  Buffer<int32_t> marked_weights_;

  // Python threads may train and predict at once: training has the state to itself.
  mutable StateLock state_lock_;
  mutable std::mutex compile_mutex_;
};

}  // namespace cotm
