// Built by test_kernels.py: calls single kernels of an instruction set, with plain arguments.
#include <stdexcept>

#include "kernels/kernels.hpp"

using cotm::Feedback;
using cotm::IncludeList;
using cotm::Kernels;
using cotm::Key;
using cotm::Window;

namespace {

// window: top, bottom, left, right; none for flat examples.
IncludeList make_list(uint32_t* offsets, uint32_t length, const uint32_t* window) {
  IncludeList list{.offsets = offsets, .length = length, .capacity = length, .window = {}};
  if (window) list.window = {window[0], window[1], window[2], window[3]};
  return list;
}

}  // namespace

extern "C" {

uint32_t most_owed() { return cotm::kMostOwed; }
uint32_t watch_lanes() { return cotm::kWatchLanes; }
uint32_t chunk() { return cotm::kChunk; }
uint32_t pick_lanes() { return cotm::kPickLanes; }

// Null where the processor does not run them.
const Kernels* find_kernels(const char* isa) {
  try {
    return &cotm::choose_kernels(isa);
  } catch (const std::invalid_argument&) {
    return nullptr;
  }
}

void call_select(const Kernels* kernels, const Key* key, uint32_t first, uint32_t count,
                 uint64_t threshold, uint64_t* out) {
  kernels->select(*key, first, count, threshold, out);
}

uint32_t call_match_flat(const Kernels* kernels, uint32_t* offsets, uint32_t length,
                         const uint64_t* words, const uint64_t* examples, uint64_t* found) {
  return kernels->match_flat(make_list(offsets, length, nullptr), words, examples, found);
}

uint64_t call_match_window(const Kernels* kernels, uint32_t* offsets, uint32_t length,
                           const uint32_t* window, const uint64_t* words, size_t row_step,
                           uint64_t examples, uint32_t* ended) {
  return kernels->match_window(make_list(offsets, length, window), words, row_step, examples,
                               *ended);
}

size_t call_find_patches(const Kernels* kernels, uint32_t* offsets, uint32_t length,
                         const uint32_t* window, const uint64_t* words, size_t row_step,
                         uint32_t columns, unsigned example, uint32_t* patches) {
  return kernels->find_patches(make_list(offsets, length, window), words, row_step, columns,
                               example, patches);
}

uint32_t call_grade_flat(const Kernels* kernels, uint32_t* offsets, uint32_t length,
                         const uint64_t* words, const uint64_t* examples, uint32_t most,
                         uint32_t planes, uint64_t* found) {
  return kernels->grade_flat(make_list(offsets, length, nullptr), words, examples, most, planes,
                             found);
}

void call_grade_window(const Kernels* kernels, uint32_t* offsets, uint32_t length,
                       const uint32_t* window, const uint32_t* row_misses,
                       const uint32_t* column_misses, const uint64_t* words, size_t row_step,
                       uint64_t examples, uint32_t most, uint32_t planes, uint64_t* found) {
  IncludeList list = make_list(offsets, length, window);
  list.row_misses = row_misses;
  list.column_misses = column_misses;
  kernels->grade_window(list, words, row_step, examples, most, planes, found);
}

size_t call_find_graded(const Kernels* kernels, uint32_t* offsets, uint32_t length,
                        const uint32_t* window, const uint32_t* row_misses,
                        const uint32_t* column_misses, const uint64_t* words, size_t row_step,
                        uint32_t columns, unsigned example, uint32_t most, uint32_t planes,
                        uint32_t grade, uint32_t* patches) {
  IncludeList list = make_list(offsets, length, window);
  list.row_misses = row_misses;
  list.column_misses = column_misses;
  return kernels->find_graded(list, words, row_step, columns, example, most, planes, grade,
                              patches);
}

void call_add_votes(const Kernels* kernels, const uint64_t* fires, size_t count,
                    const int32_t* weights, size_t m, int64_t largest, int64_t* votes) {
  kernels->add_votes(fires, count, weights, m, largest, votes);
}

void call_add_grades(const Kernels* kernels, const uint64_t* fires, const uint16_t* grades,
                     size_t count, const int32_t* weights, size_t m, int64_t largest,
                     int64_t* votes) {
  kernels->add_grades(fires, grades, count, weights, m, largest, votes);
}

void call_count_misses(const Kernels* kernels, uint32_t* offsets, uint32_t length,
                       const uint64_t* words, uint16_t* counts) {
  kernels->count_misses(make_list(offsets, length, nullptr), words, counts);
}

void call_move_counts(const Kernels* kernels, const uint64_t* examples, size_t first, size_t end,
                      int32_t amount, uint16_t* counts) {
  kernels->move_counts(examples, first, end, static_cast<int16_t>(amount), counts);
}

void call_grade_counts(const Kernels* kernels, const uint16_t* counts, size_t step,
                       const uint16_t* most, size_t count, uint16_t* grades, uint64_t* fires) {
  kernels->grade_counts(counts, step, most, count, grades, fires);
}

void call_sum_votes(const Kernels* kernels, const uint64_t* found, size_t groups, size_t examples,
                    size_t clauses, const int16_t* weights, size_t m, int16_t* votes) {
  kernels->sum_votes(found, groups, examples, clauses, weights, m, votes);
}

void call_sum_grades(const Kernels* kernels, const uint64_t* found, size_t groups, uint32_t planes,
                     size_t examples, size_t clauses, const int16_t* weights, size_t m,
                     int32_t* sums) {
  kernels->sum_grades(found, groups, planes, examples, clauses, weights, m, sums);
}

void call_transpose64(const Kernels* kernels, uint64_t* words) { kernels->transpose64(words); }

bool call_feedback(const Kernels* kernels, const Key* owed_keys, uint32_t owed,
                   const uint64_t* truth, const Key* keys, uint32_t type1, uint32_t type2,
                   uint32_t q, int32_t N, int32_t top, bool boost_true_positive, bool grows,
                   bool graded, const uint32_t* spread, const uint64_t* valid, size_t words,
                   int8_t* row, uint64_t* include, uint64_t* flipped, uint64_t* near_edge) {
  const Feedback given{.owed_keys = owed_keys,
                       .owed = owed,
                       .truth = truth,
                       .keys = keys,
                       .type1 = type1,
                       .type2 = type2,
                       .q = q,
                       .N = N,
                       .top = top,
                       .boost_true_positive = boost_true_positive,
                       .grows = grows,
                       .graded = graded};
  return kernels->feedback(given, spread, valid, words, row,
                           {.include = include, .flipped = flipped, .near_edge = near_edge});
}

uint32_t call_plain_feedback(const Kernels* kernels, const uint64_t* truth, int32_t to_true,
                             int32_t to_open, int32_t N, int32_t top, const uint64_t* valid,
                             size_t words, int8_t* row, uint64_t* include, uint64_t* flipped,
                             uint32_t* changed) {
  const cotm::PlainFeedback given{.truth = truth,
                                  .to_true = static_cast<int8_t>(to_true),
                                  .to_open = static_cast<int8_t>(to_open),
                                  .floor = static_cast<int8_t>(-N),
                                  .top = static_cast<int8_t>(top)};
  return kernels->plain_feedback(given, valid, words, row,
                                 {.include = include, .flipped = flipped, .near_edge = nullptr},
                                 changed);
}

void call_pick(const Kernels* kernels, const Key* key, uint32_t first, uint32_t count,
               uint32_t features, uint32_t* literals) {
  kernels->pick(*key, first, count, features, literals);
}

void call_include_bits(const Kernels* kernels, const int8_t* row, size_t words, uint64_t* include) {
  kernels->include_bits(row, words, include);
}

void call_interleave(const Kernels* kernels, const uint64_t* features, const uint64_t* valid,
                     size_t words, uint64_t* truth) {
  kernels->interleave(features, valid, words, truth);
}

uint32_t call_count_row_misses(const Kernels* kernels, const uint32_t* places,
                               const uint64_t* masks, uint32_t count, const uint64_t* truth,
                               uint32_t limit) {
  return kernels->count_row_misses(places, masks, count, truth, limit);
}

bool call_forget_watched(const Kernels* kernels, const Key* key, uint32_t q, uint32_t count,
                         uint32_t* watch) {
  return kernels->forget_watched(*key, q, count, watch);
}

}  // extern "C"
