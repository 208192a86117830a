// Shapley values of the votes of clauses; explaining/shapley.py is the definition.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cotm {

// Clauses that can vote. Literals lie clause by clause, those of a player side by side.
struct ClausePool {
  size_t clauses, features, players, outputs;
  const int64_t* starts;
  const int32_t* feature_of;
  const uint8_t* negated;
  const int32_t* player_of;
  const int32_t* most;
  const double* weights;

  // Throws if a number is out of range.
  void require_valid() const;
};

// Nodes and weights on [0, 1] of a quadrature that is exact for the players of any clause.
struct Quadrature {
  size_t count;
  const double* times;
  const double* weights;
};

// Rows of bits, pool.features to a row.
struct BitRows {
  size_t count;
  const uint8_t* bits;
};

// Adds to `out` (rows, players, outputs), whatever the number of threads in the same order.
void shapley(const ClausePool& pool, const BitRows& rows, const BitRows& background,
             const Quadrature& quadrature, unsigned threads, double* out);

}  // namespace cotm
