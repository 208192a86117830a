// The kernels, written once over the small types that baseline.cpp, avx2.cpp, avx512.cpp and
// neon.cpp define for their instructions before they include this file, each in a namespace of its
// own:
//   Octet     8 words: load, store, all (the same word in each), &, |, ^, without, any
//   Lanes     kLanes words: the same, or_of_lanes, lanes_with_bit (which lanes have a bit set)
//   VoteMask  which of kVoteLanes examples fire
//   VoteSum   their votes for one output in 16 bits: zero, load, store, plus
//   Grades    what two clauses say of kPairLanes examples, side by side in 16 bits: zero, plus
//   PairSum   votes in 32 bits: load, store, plus (grades times the two weights in each word)
//   Mask      one flag per literal of 64: from_bits, without, forget
//   Row       64 memory entries: load, store, only (what a mask has), plus, minus, *_saturated,
//   clipped, include_bits,
//             flipped_bits, near_edge_bits (included and below kMostOwed), forgets (how often
//             each literal is forgotten)
// and the functions select64, pick_lanes, interleave_many and less_misses.
//
// Nothing from the C++ library is used here: a template instantiated with wide instructions
// could be picked by the linker for everyone.

static void select(Key key, uint32_t first, uint32_t count, uint64_t threshold, uint64_t* out) {
  const uint32_t words = (count + 63) / 64;
  if (threshold == 0) {
    for (uint32_t w = 0; w < words; ++w) out[w] = 0;
    return;
  }
  const uint32_t last =
      threshold > 0xFFFFFFFFu ? 0xFFFFFFFFu : static_cast<uint32_t>(threshold - 1);
  for (uint32_t w = 0; w < words; ++w) out[w] = select64(key, first + 64 * w, last);
  if (count % 64) out[words - 1] &= (uint64_t{1} << (count % 64)) - 1;
}

// ANDs the words of the literals to `left`, for kRows vectors at once, `step` words apart: after
// how many literals each is empty is as good as random, so one test for all of them is mispredicted
// less often than one for each. Returns the number of literals after which all were empty, or 0 if
// that was not tested or something is left.
template <uint32_t kRows, class Words>
static inline uint32_t and_literals(const uint32_t* offsets, uint32_t length, const uint64_t* words,
                                    size_t step, Words* left) {
  uint32_t i = 0;
  for (; i + kChunk <= length; i += kChunk) {
    for (uint32_t k = 0; k < kChunk; ++k) {
      const uint64_t* at = words + offsets[i + k];
      for (uint32_t r = 0; r < kRows; ++r) left[r] = left[r] & Words::load(at + r * step);
    }
    Words all_rows = left[0];
    for (uint32_t r = 1; r < kRows; ++r) all_rows = all_rows | left[r];
    if (!all_rows.any()) return i + kChunk;
  }
  for (; i < length; ++i) {
    const uint64_t* at = words + offsets[i];
    for (uint32_t r = 0; r < kRows; ++r) left[r] = left[r] & Words::load(at + r * step);
  }
  return 0;
}

static uint32_t match_flat(const IncludeList& list, const uint64_t* words, const uint64_t* examples,
                           uint64_t* found) {
  Octet left = Octet::load(examples);
  const uint32_t ended = and_literals<1>(list.offsets, list.length, words, 0, &left);
  left.store(found);
  return ended;
}

// kRows rows of a window, from one column on.
template <uint32_t kRows>
static inline uint64_t match_rows(const IncludeList& list, const uint64_t* words, size_t row_step,
                                  Lanes open, uint32_t& ended) {
  Lanes left[kRows];
  for (uint32_t r = 0; r < kRows; ++r) left[r] = open;
  if (const uint32_t here = and_literals<kRows>(list.offsets, list.length, words, row_step, left)) {
    ended = here;
    return 0;
  }
  for (uint32_t r = 1; r < kRows; ++r) left[0] = left[0] | left[r];
  return left[0].or_of_lanes();
}

static uint64_t match_window(const IncludeList& list, const uint64_t* words, size_t row_step,
                             uint64_t examples, uint32_t& ended) {
  const Window window = list.window;
  uint64_t found = 0;
  ended = 0;
  for (uint32_t column = window.left; column <= window.right; column += kLanes) {
    const Lanes lanes = lanes_from(window, column);
    for (uint32_t row = window.top; row <= window.bottom;) {
      const uint64_t* at = words + row * row_step + column;
      const Lanes open = lanes & Lanes::all(examples & ~found);
      const uint32_t rest = window.bottom - row + 1;
      if (rest >= 4) {
        found |= match_rows<4>(list, at, row_step, open, ended);
        row += 4;
      } else if (rest >= 2) {
        found |= match_rows<2>(list, at, row_step, open, ended);
        row += 2;
      } else {
        found |= match_rows<1>(list, at, row_step, open, ended);
        row += 1;
      }
      if (found == examples) return found;
    }
  }
  return found;
}

static size_t find_patches(const IncludeList& list, const uint64_t* words, size_t row_step,
                           uint32_t columns, unsigned example, uint32_t* patches) {
  const Window window = list.window;
  const Lanes open = Lanes::all(uint64_t{1} << example);
  size_t found = 0;
  for (uint32_t row = window.top; row <= window.bottom; ++row) {
    for (uint32_t column = window.left; column <= window.right; column += kLanes) {
      Lanes left = lanes_from(window, column) & open;
      and_literals<1>(list.offsets, list.length, words + row * row_step + column, 0, &left);
      for (uint32_t bits = left.lanes_with_bit(example); bits; bits &= bits - 1) {
        patches[found++] = row * columns + column + lowest_bit(bits);
      }
    }
  }
  return found;
}

using Weights = EightI32;
static constexpr size_t kWeights = sizeof(Weights) / sizeof(int32_t);

// weights[j][i] times grades[j], or once where there are no grades, for every clause that fires. No
// product is larger than `largest`.
template <bool kGraded>
static void add_products(const uint64_t* fires, const uint16_t* grades, size_t count,
                         const int32_t* weights, size_t m, int64_t largest, int64_t* votes) {
  const size_t words = (count + 63) / 64;
  // From one to two vectors of outputs, of which the second overlaps the first, are summed in 32
  // bits as long as no sum can overflow.
  if (m < kWeights || m > 2 * kWeights || largest >= (int64_t{1} << 31) / 128) {
    for (size_t w = 0; w < words; ++w) {
      for (uint64_t bits = fires[w]; bits; bits &= bits - 1) {
        const size_t j = 64 * w + lowest_bit(bits);
        const int32_t* row = weights + j * m;
        const int64_t times = kGraded ? grades[j] : 1;
        for (size_t i = 0; i < m; ++i) votes[i] += times * row[i];
      }
    }
    return;
  }
  Weights head = {}, tail = {};  // sums of the first and of the last kWeights outputs
  const size_t second = m - kWeights;
  const auto add_to_votes = [&] {
    for (size_t i = 0; i < kWeights; ++i) votes[i] += head[i];
    for (size_t i = kWeights; i < m; ++i) votes[i] += tail[i - second];
    head = tail = Weights{};
  };
  int64_t bound = 0;
  for (size_t w = 0; w < words; ++w, weights += 64 * m) {
    bound += 64 * largest;
    if (bound >= int64_t{1} << 31) {
      add_to_votes();
      bound = 64 * largest;
    }
    for (uint64_t bits = fires[w]; bits; bits &= bits - 1) {
      const size_t j = lowest_bit(bits);
      const int32_t* row = weights + j * m;
      if constexpr (kGraded) {
        const int32_t times = grades[64 * w + j];
        head += *reinterpret_cast<const Weights*>(row) * times;
        tail += *reinterpret_cast<const Weights*>(row + second) * times;
      } else {
        head += *reinterpret_cast<const Weights*>(row);
        tail += *reinterpret_cast<const Weights*>(row + second);
      }
    }
  }
  add_to_votes();
}

static void add_votes(const uint64_t* fires, size_t count, const int32_t* weights, size_t m,
                      int64_t largest, int64_t* votes) {
  add_products<false>(fires, nullptr, count, weights, m, largest, votes);
}

static void add_grades(const uint64_t* fires, const uint16_t* grades, size_t count,
                       const int32_t* weights, size_t m, int64_t largest, int64_t* votes) {
  add_products<true>(fires, grades, count, weights, m, largest, votes);
}

// Every clause is added to every example under a mask. Which examples a clause fires on is as good
// as random: a loop over them would be mispredicted every few of them.
template <uint32_t kOutputs>
static void sum_outputs(const uint64_t* found, size_t groups, size_t examples, size_t clauses,
                        const int16_t* weights, size_t m, int16_t* votes) {
  constexpr size_t kTogether = 32;  // clauses whose weights fit the nearest cache
  alignas(64) int16_t spread_out[kTogether * kOutputs * kVoteLanes];
  for (size_t first = 0; first < clauses; first += kTogether) {
    const size_t count = clauses - first < kTogether ? clauses - first : kTogether;
    for (size_t j = 0; j < count; ++j) {
      for (size_t i = 0; i < kOutputs; ++i) {
        int16_t* to = spread_out + (j * kOutputs + i) * kVoteLanes;
        for (size_t lane = 0; lane < kVoteLanes; ++lane) to[lane] = weights[(first + j) * m + i];
      }
    }
    for (size_t e = 0; e < examples; e += kVoteLanes) {
      VoteSum sums[kOutputs];
      for (size_t i = 0; i < kOutputs; ++i) sums[i] = VoteSum::load(votes + i * 64 * groups + e);
      for (size_t j = 0; j < count; ++j) {
        const VoteMask fires = VoteMask::from(found + (first + j) * groups, e);
        const int16_t* add = spread_out + j * kOutputs * kVoteLanes;
        for (size_t i = 0; i < kOutputs; ++i) sums[i] = sums[i].plus(add + i * kVoteLanes, fires);
      }
      for (size_t i = 0; i < kOutputs; ++i) sums[i].store(votes + i * 64 * groups + e);
    }
  }
}

static void sum_votes(const uint64_t* found, size_t groups, size_t examples, size_t clauses,
                      const int16_t* weights, size_t m, int16_t* votes) {
  constexpr size_t kMost = 12;  // sums that stay in registers
  static constexpr decltype(&sum_outputs<1>) sum[kMost] = {
      sum_outputs<1>, sum_outputs<2>,  sum_outputs<3>,  sum_outputs<4>,
      sum_outputs<5>, sum_outputs<6>,  sum_outputs<7>,  sum_outputs<8>,
      sum_outputs<9>, sum_outputs<10>, sum_outputs<11>, sum_outputs<12>};
  const size_t parts = (m + kMost - 1) / kMost;
  for (size_t part = 0; part < parts; ++part) {
    const size_t i = m * part / parts, end = m * (part + 1) / parts;
    sum[end - i - 1](found, groups, examples, clauses, weights + i, m, votes + i * 64 * groups);
  }
}

// What `count` clauses say of kPairLanes examples, two at a time; of an odd one twice. Bits are
// known to the compiler up to as many planes as short clauses have; 0: they are not.
template <uint32_t kPlanes>
static void read_grades(const uint64_t* found, size_t groups, uint32_t planes, size_t example,
                        size_t count, Grades* to) {
  const uint32_t used = kPlanes ? kPlanes : planes;
  const size_t each = groups * used;
  for (size_t j = 0; j < count; j += 2, found += 2 * each) {
    const uint64_t* other = j + 1 < count ? found + each : found;
    Grades grades = Grades::zero();
    for (uint32_t k = 0; k < used; ++k) {
      grades = grades.plus(found + k * groups, other + k * groups, example, k);
    }
    *to++ = grades;
  }
}

// Two clauses at a time: a multiplication of pairs of 16 bits takes their grades and weights, and
// adds up the products in 32 bits.
template <uint32_t kOutputs>
static void sum_graded_outputs(const uint64_t* found, size_t groups, uint32_t planes,
                               size_t examples, size_t clauses, const int16_t* weights, size_t m,
                               int32_t* sums) {
  constexpr size_t kTogether = 16;  // pairs whose weights fit the nearest cache
  alignas(64) uint32_t spread_out[kTogether * kOutputs * kPairLanes];
  Grades grades[kTogether];
  static constexpr decltype(&read_grades<0>) read[] = {
      read_grades<0>, read_grades<1>, read_grades<2>, read_grades<3>, read_grades<4>,
      read_grades<5>, read_grades<6>, read_grades<7>, read_grades<8>};
  for (size_t first = 0; first < clauses; first += 2 * kTogether) {
    const size_t rest = clauses - first, count = rest < 2 * kTogether ? rest : 2 * kTogether;
    const size_t pairs = (count + 1) / 2;
    for (size_t pair = 0; pair < pairs; ++pair) {
      for (size_t i = 0; i < kOutputs; ++i) {
        const int16_t* weight = weights + (first + 2 * pair) * m + i;
        const int16_t next = 2 * pair + 1 < count ? weight[m] : int16_t{0};
        const uint32_t both = static_cast<uint16_t>(*weight) |
                              static_cast<uint32_t>(static_cast<uint16_t>(next)) << 16;
        uint32_t* to = spread_out + (pair * kOutputs + i) * kPairLanes;
        for (size_t lane = 0; lane < kPairLanes; ++lane) to[lane] = both;
      }
    }
    for (size_t e = 0; e < examples; e += kPairLanes) {
      PairSum totals[kOutputs];
      for (size_t i = 0; i < kOutputs; ++i) totals[i] = PairSum::load(sums + i * 64 * groups + e);
      read[planes <= 8 ? planes : 0](found + first * groups * planes, groups, planes, e, count,
                                     grades);
      for (size_t pair = 0; pair < pairs; ++pair) {
        const uint32_t* by = spread_out + pair * kOutputs * kPairLanes;
        for (size_t i = 0; i < kOutputs; ++i) {
          totals[i] = totals[i].plus(grades[pair], by + i * kPairLanes);
        }
      }
      for (size_t i = 0; i < kOutputs; ++i) totals[i].store(sums + i * 64 * groups + e);
    }
  }
}

static void sum_grades(const uint64_t* found, size_t groups, uint32_t planes, size_t examples,
                       size_t clauses, const int16_t* weights, size_t m, int32_t* sums) {
  constexpr size_t kMost = 12;  // sums that stay in registers
  static constexpr decltype(&sum_graded_outputs<1>) sum[kMost] = {
      sum_graded_outputs<1>,  sum_graded_outputs<2>,  sum_graded_outputs<3>,
      sum_graded_outputs<4>,  sum_graded_outputs<5>,  sum_graded_outputs<6>,
      sum_graded_outputs<7>,  sum_graded_outputs<8>,  sum_graded_outputs<9>,
      sum_graded_outputs<10>, sum_graded_outputs<11>, sum_graded_outputs<12>};
  const size_t parts = (m + kMost - 1) / kMost;
  for (size_t part = 0; part < parts; ++part) {
    const size_t i = m * part / parts, end = m * (part + 1) / parts;
    sum[end - i - 1](found, groups, planes, examples, clauses, weights + i, m,
                     sums + i * 64 * groups);
  }
}

// Of every square of 2 kWidth by 2 kWidth bits on the diagonal, swaps the upper right quarter with
// the lower left one.
template <unsigned kWidth>
static inline void swap_squares(uint64_t* words) {
  constexpr uint64_t kMask = ~uint64_t{0} / ((uint64_t{1} << kWidth) + 1);
  for (unsigned first = 0; first < 64; first += 2 * kWidth) {
    for (unsigned r = first; r < first + kWidth; ++r) {
      const uint64_t swap = (words[r] >> kWidth ^ words[r + kWidth]) & kMask;
      words[r] ^= swap << kWidth;
      words[r + kWidth] ^= swap;
    }
  }
}

static void transpose64(uint64_t* words) {
  swap_squares<32>(words);
  swap_squares<16>(words);
  swap_squares<8>(words);
  swap_squares<4>(words);
  swap_squares<2>(words);
  swap_squares<1>(words);
}

// Gives a row the feedback it owes. A function by itself, so that all of its numbers stay in
// registers. It only takes away, so the floor alone can be met. kDeep: the floor is that of an
// int8, and saturation clips.
template <bool kDeep>
static COTM_NOINLINE void pay(const Feedback& f, const uint32_t* spread, const uint64_t* valid,
                              size_t words, int8_t* row) {
  for (size_t w = 0; w < words; ++w, spread += 32, row += 64) {
    Row forgets = Row::forgets(spread, f.owed_keys, f.owed, f.q);
    if (valid[w] != ~uint64_t{0}) forgets = forgets.only(Mask::from_bits(valid[w]));
    const Row after = Row::load(row).minus_saturated(forgets);
    (kDeep ? after : after.clipped(-f.N, f.top)).store(row);
  }
}

// kDeep: entries use all of an int8, and saturation clips them.
template <bool kDeep>
static bool feedback_as(const Feedback f, const uint32_t* spread, const uint64_t* valid,
                        size_t words, int8_t* row, const RowBits bits) {
  uint64_t changed = 0;
  if (f.owed) (f.N == 128 ? pay<true> : pay<false>)(f, spread, valid, words, row);
  for (size_t w = 0; w < words; ++w, spread += 32, row += 64) {
    const Row before = Row::load(row);
    Row delta = Row::zero();
    if (!f.truth) {
      for (uint32_t k = 0; k < f.type1; ++k) {
        delta = delta.minus(Mask::forget(spread, f.keys[k], f.q));
      }
    } else {
      // An included literal of a clause that fires is true, but for those a grade forgives.
      uint64_t open = ~f.truth[w] & valid[w];
      if (f.graded) open &= ~before.include_bits();
      if (f.type1) {
        const Mask truth = Mask::from_bits(f.truth[w]);
        for (uint32_t k = 0; k < f.type1; ++k) {
          const Mask forget = Mask::forget(spread, f.keys[k], f.q);
          delta = delta.minus(forget.without(truth));
          if (f.grows) delta = delta.plus(f.boost_true_positive ? truth : truth.without(forget));
        }
      }
      if (f.type2) delta = delta.plus(Mask::from_bits(open), static_cast<int8_t>(f.type2));
    }
    if (valid[w] != ~uint64_t{0}) delta = delta.only(Mask::from_bits(valid[w]));
    Row after = before.plus_saturated(delta);
    if constexpr (!kDeep) after = after.clipped(-f.N, f.top);
    after.store(row);
    bits.include[w] = after.include_bits();
    bits.flipped[w] = after.flipped_bits(before);
    bits.near_edge[w] = after.near_edge_bits();
    changed |= bits.flipped[w];
  }
  return changed != 0;
}

static bool feedback(const Feedback& f, const uint32_t* spread, const uint64_t* valid, size_t words,
                     int8_t* row, const RowBits& bits) {
  return (f.N == 128 && f.top == 127 ? feedback_as<true> : feedback_as<false>)(f, spread, valid,
                                                                               words, row, bits);
}

using WatchLanes = EightU32;
static_assert(sizeof(WatchLanes) == kWatchLanes * sizeof(uint32_t));

static bool forget_watched(Key key, uint32_t q, uint32_t count, uint32_t* watch) {
  WatchLanes crossed = {};
  for (uint32_t first = 0; first < count; first += kWatchLanes) {
    WatchLanes& words = *reinterpret_cast<WatchLanes*>(watch + first);
    // Above the eight bits of the entry: whether the literal is a negation, and its feature.
    const WatchLanes x = hash32_spread(key, spread<WatchLanes>(words >> 9));
    const WatchLanes draw = choose(words & 0x100, x >> 16, x & 0xFFFF);
    const WatchLanes forgets = static_cast<WatchLanes>(draw < q);  // all ones, or zero
    const WatchLanes crosses = forgets & static_cast<WatchLanes>((words & 0xFF) == 0);
    crossed |= crosses;
    words = (words + (forgets & ~crosses)) | (crosses & Watched::kCrossedEdge);
  }
  uint32_t any = 0;
  for (uint32_t i = 0; i < kWatchLanes; ++i) any |= crossed[i];
  return any != 0;
}

static constexpr Kernels table = {
    .name = kIsaName,
    .select = select,
    .match_flat = match_flat,
    .match_window = match_window,
    .find_patches = find_patches,
    .grade_flat = grade_flat,
    .grade_window = grade_window,
    .find_graded = find_graded,
    .count_misses = count_misses,
    .count_row_misses = count_row_misses,
    .move_counts = move_counts,
    .grade_counts = grade_counts,
    .add_grades = add_grades,
    .add_votes = add_votes,
    .sum_votes = sum_votes,
    .sum_grades = sum_grades,
    .transpose64 = transpose64,
    .feedback = feedback,
    .plain_feedback = plain_feedback,
    .pick = pick,
    .include_bits = include_bits,
    .interleave = interleave,
    .forget_watched = forget_watched,
};
