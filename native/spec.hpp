// A machine's definition in integers, with the fields of cotm.core.spec.Spec and of its grid.
//
// Each list of fields stands here and nowhere else in C++: the bindings read a Python object
// through for_each_field, and refuse one that has other fields.
#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>

namespace cotm {

inline void require(bool condition, const char* what) {
  if (!condition) throw std::invalid_argument(what);
}

#define COTM_GRID_FIELDS(FIELD)   \
  FIELD(uint32_t, height)         \
  FIELD(uint32_t, width)          \
  FIELD(uint32_t, channels)       \
  FIELD(uint32_t, patch_height)   \
  FIELD(uint32_t, patch_width)    \
  FIELD(uint32_t, stride_rows)    \
  FIELD(uint32_t, stride_columns) \
  FIELD(uint32_t, depth)          \
  FIELD(uint32_t, patch_depth)    \
  FIELD(uint32_t, stride_depths)

#define COTM_SPEC_FIELDS(FIELD)    \
  FIELD(uint32_t, n)               \
  FIELD(uint32_t, m)               \
  FIELD(Grid, grid)                \
  FIELD(int64_t, T)                \
  FIELD(uint32_t, q)               \
  FIELD(int32_t, N)                \
  FIELD(bool, boost_true_positive) \
  FIELD(bool, e_scales_type2)      \
  FIELD(uint32_t, max_literals)    \
  FIELD(int32_t, max_weight)       \
  FIELD(bool, sharing)             \
  FIELD(bool, learn_weights)       \
  FIELD(uint64_t, seed)            \
  FIELD(uint32_t, tolerance)       \
  FIELD(int64_t, picks)            \
  FIELD(uint32_t, growth_limit)    \
  FIELD(int32_t, include_depth)    \
  FIELD(uint32_t, negatives)       \
  FIELD(uint32_t, drop_clauses)    \
  FIELD(uint32_t, drop_literals)   \
  FIELD(bool, regression)          \
  FIELD(bool, negations)

#define COTM_DECLARE(type, name) type name{};
#define COTM_VISIT(type, name) visit(#name, &Self::name);

// Where the patches of a volume lie. An image is one of depth 1, and a flat example a 1 x 1 image
// with o channels. Examples have the slices of a volume one below the other, as rows of an image.
struct Grid {
  COTM_GRID_FIELDS(COTM_DECLARE)

  // Calls visit(name, pointer to member) for every field.
  template <class Visit>
  static void for_each_field(Visit visit) {
    using Self = Grid;
    COTM_GRID_FIELDS(COTM_VISIT)
  }

  uint32_t depths() const { return (depth - patch_depth) / stride_depths + 1; }
  uint32_t rows() const { return (height - patch_height) / stride_rows + 1; }
  uint32_t columns() const { return (width - patch_width) / stride_columns + 1; }
  uint32_t n_patches() const { return depths() * rows() * columns(); }
  uint32_t n_position_features() const { return depths() - 1 + rows() - 1 + columns() - 1; }
  uint32_t n_features() const {
    return n_position_features() + patch_depth * patch_height * patch_width * channels;
  }
  size_t n_literals() const { return 2 * size_t{n_features()}; }
  bool is_flat() const { return depth == 1 && height == 1 && width == 1; }
};

struct Spec {
  COTM_SPEC_FIELDS(COTM_DECLARE)

  template <class Visit>
  static void for_each_field(Visit visit) {
    using Self = Spec;
    COTM_SPEC_FIELDS(COTM_VISIT)
  }

  // Throws std::invalid_argument for what Python would not let pass, and what could do harm here.
  void require_valid() const {
    require(n >= 1 && m >= 1, "n and m must be positive");
    require(T >= 1 && T <= int64_t{1} << 30, "T must lie in [1, 2^30]");
    require(q <= 65536, "q must lie in [0, 65536]");
    require(N >= 1 && N <= 128, "N must lie in [1, 128]");
    require(max_weight >= 1, "max_weight must be positive");
    require(tolerance >= 1 && tolerance <= 1 << 15, "tolerance must lie in [1, 2^15]");
    require(picks >= -1 && picks <= int64_t{1} << 46, "picks must lie in [-1, 2^46]");
    require(include_depth >= 0 && include_depth <= 128, "include_depth must lie in [0, 128]");
    require(negatives <= 2, "negatives must lie in [0, 2]");
    Grid::for_each_field([this](const char*, auto field) {
      require(grid.*field >= 1, "the grid's numbers must be positive");
    });
    require(grid.patch_depth <= grid.depth && grid.patch_height <= grid.height &&
                grid.patch_width <= grid.width,
            "a patch must fit into the image");
  }

  bool has_sleepers() const { return drop_literals || !negations; }  // among the literals
  bool is_graded() const { return tolerance > 1; }
  bool is_sampled() const { return picks >= 0; }  // forgetting, instead of drawn for each literal
  // Of the outputs with target 0 one may give feedback, in proportion to its votes or evenly.
  bool draws_negative() const { return negatives > 0; }
  bool is_focused() const { return negatives == 2; }
  int32_t top() const { return (include_depth ? include_depth : N) - 1; }  // the largest entry
  // The largest output of a clause.
  uint32_t most() const {
    return static_cast<uint32_t>(std::min<size_t>(tolerance, grid.n_literals()));
  }

  // The output that owns a clause when sharing is off.
  uint32_t owner(uint32_t clause) const { return static_cast<uint32_t>(uint64_t{clause} * m / n); }

  // A weight after one step up or down. Without sharing a clause keeps its side.
  int32_t moved_weight(int32_t weight, bool up) const {
    int64_t moved = int64_t{weight} + (up ? 1 : -1);
    if (!sharing) {
      if (weight > 0) moved = std::max<int64_t>(moved, 1);
      if (weight < 0) moved = std::min<int64_t>(moved, -1);
    }
    const int64_t limit = max_weight;
    return static_cast<int32_t>(std::clamp(moved, -limit, limit));
  }
};

#undef COTM_DECLARE
#undef COTM_VISIT
#undef COTM_GRID_FIELDS
#undef COTM_SPEC_FIELDS

}  // namespace cotm
