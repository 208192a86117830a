// Graded clauses: what they say of examples, which is a number.
//
// Of the 32 examples of a batch, or of the patches that lie side by side, that is a word per bit
// of the number ("plane"). A clause starts with the most it can say and counts down by the
// literals it misses; who would fall below 0 is silent. With one plane all of it is what strict
// clauses do.

#pragma once

#include "clauses.cuh"

// What a clause says, a word per bit of the number.
struct Grades {
  u32 plane[kPlanes];
};

__device__ __forceinline__ u32 included_literals(const Head& head) {
  return head.set + head.negated + head.others;
}

// Takes away counts of at most 7, given bit by bit. Returns who would fall below 0.
__device__ __forceinline__ u32 count_down(Grades& grades, u32 ones, u32 twos, u32 fours) {
  const u32 amounts[3] = {ones, twos, fours};
  u32 borrow = 0;
#pragma unroll
  for (u32 k = 0; k < kPlanes; ++k) {
    const u32 from = grades.plane[k], amount = k < 3 ? amounts[k] : 0;
    grades.plane[k] = from ^ amount ^ borrow;
    borrow = (~from & (amount | borrow)) | (amount & borrow);
  }
#pragma unroll
  for (u32 k = kPlanes; k < 3; ++k) borrow |= amounts[k];
  return borrow;
}

// The same of four misses at a time.
__device__ __forceinline__ u32 count_down(Grades& grades, const u32 (&miss)[4]) {
  const u32 two = miss[0] ^ miss[1], three = two ^ miss[2];
  const u32 carry = (miss[0] & miss[1]) | (two & miss[2]), again = three & miss[3];
  return count_down(grades, three ^ miss[3], carry ^ again, carry & again);
}

// Counts down by what a list misses: `miss` tells it of an entry. Lanes may have words of their
// own, of which only `alive` counts.
template <class Miss>
__device__ __forceinline__ void count_list(const Entry* list, u32 length, Grades& grades,
                                           u32& alive, Miss miss) {
  u32 k = 0;
#pragma unroll 1
  for (; k + kUnroll <= length && __any_sync(kAll, alive); k += kUnroll) {
    static_assert(kUnroll == 4);
    const Entries entries = *reinterpret_cast<const Entries*>(list + k);
    const u32 four[4] = {miss(entries.of[0]), miss(entries.of[1]), miss(entries.of[2]),
                         miss(entries.of[3])};
    alive &= ~count_down(grades, four);
  }
  if (!__any_sync(kAll, alive)) return;
#pragma unroll 1
  for (; k < length; ++k) alive &= ~count_down(grades, miss(list[k]), 0, 0);
}

// For each bit the larger of two numbers.
__device__ __forceinline__ void take_larger(Grades& best, const Grades& other) {
  u32 greater = 0, equal = kAll;
#pragma unroll
  for (u32 k = kPlanes; k-- > 0;) {
    const u32 differ = best.plane[k] ^ other.plane[k];
    greater |= equal & differ & other.plane[k];
    equal &= ~differ;
  }
#pragma unroll
  for (u32 k = 0; k < kPlanes; ++k) {
    best.plane[k] = (best.plane[k] & ~greater) | (other.plane[k] & greater);
  }
}

// What a clause says of the 32 examples of flat data; a lane for each of them.
__device__ __forceinline__ Grades grade_flat(const Machine& machine, const Clauses& clauses,
                                             u32 local, const Head& head, const u32* words,
                                             u32 alive, u32 most) {
  u32 misses = 0;
#pragma unroll 1
  for (u32 negated = 0; negated < 2; ++negated) {
    const Entry* list = list_of(machine, clauses, local, negated);
    const u32 length = negated ? head.negated : head.set, flip = negated ? 0 : kAll;
    u32 k = 0;
#pragma unroll 1
    for (; k + kUnroll <= length; k += kUnroll) {
      const Entries entries = *reinterpret_cast<const Entries*>(list + k);
#pragma unroll
      for (u32 u = 0; u < kUnroll; ++u) {
        misses += (words[entries.of[u]] ^ flip) >> lane_index() & 1;
      }
      if (k % 32 == 0 && !__any_sync(kAll, misses < most)) break;
    }
    if (!__any_sync(kAll, misses < most)) break;
#pragma unroll 1
    for (; k < length; ++k) misses += (words[list[k]] ^ flip) >> lane_index() & 1;
  }
  const u32 grade = misses < most && (alive >> lane_index() & 1) ? most - misses : 0;
  Grades grades;
#pragma unroll
  for (u32 k = 0; k < kPlanes; ++k) grades.plane[k] = __ballot_sync(kAll, grade >> k & 1);
  return grades;
}

// Numbers that are the same for all bits of a word.
__device__ __forceinline__ void set_all(Grades& grades, u32 number) {
#pragma unroll
  for (u32 k = 0; k < kPlanes; ++k) grades.plane[k] = number >> k & 1 ? kAll : 0;
}

__device__ __forceinline__ const u32* misses_of(const Machine& machine, const Clauses& clauses,
                                                u32 local) {
  return clauses.misses + u64{local} * (machine.grid_lines + machine.grid_columns);
}

// The most a clause says of any patch of the 32 images of a batch; a lane for each patch.
__device__ __forceinline__ Grades grade_images(const Machine& machine, const Clauses& clauses,
                                               u32 local, const Head& head, const u32* words,
                                               u32 alive, u32 most) {
  const u32* misses = misses_of(machine, clauses, local);
  const u32 patches = head.rows * head.columns;
  Grades best = {};
#pragma unroll 1
  for (u32 first = 0; first < patches; first += 32) {
    const u32 patch = min(first + lane_index(), patches - 1);
    const u32 row = divide(patch, head.columns, head.inverse), column = patch - row * head.columns;
    const u32 missed = misses[row] + misses[machine.grid_lines + column];
    const u32* base = words + patch_offset(machine, line_at(machine, row), column);
    u32 found = missed < most ? alive : 0;
    Grades grades;
    set_all(grades, missed < most ? most - missed : 0);
    count_list(list_of(machine, clauses, local, false), head.set, grades, found,
               [&](u32 entry) { return ~base[entry]; });
    count_list(list_of(machine, clauses, local, true), head.negated, grades, found,
               [&](u32 entry) { return base[entry]; });
#pragma unroll
    for (u32 k = 0; k < kPlanes; ++k) grades.plane[k] &= found;
    take_larger(best, grades);
  }
#pragma unroll 1
  for (u32 s = 16; s; s /= 2) {
    Grades other;
#pragma unroll
    for (u32 k = 0; k < kPlanes; ++k) other.plane[k] = __shfl_xor_sync(kAll, best.plane[k], s);
    take_larger(best, other);
  }
  return best;
}

// What a clause says of the examples of `alive`, from the words of their batch; the same in all
// lanes. A clause without literals says 1.
__device__ __forceinline__ Grades grade(const Machine& machine, const Clauses& clauses, u32 local,
                                        const u32* words, u32 alive) {
  if constexpr (!kGraded) return {{match(machine, clauses, local, words, alive)}};
  const Head head = clauses.heads[local];
  const u32 included = included_literals(head);
  if (!included) return {{alive}};
  const u32 most = min(machine.spec.tolerance, included);
  return kSearches ? grade_images(machine, clauses, local, head, words, alive, most)
                   : grade_flat(machine, clauses, local, head, words, alive, most);
}

// What a clause says of the patches of one image, from the rows of the image. A pass takes those
// of one row within 32 bits; lane p gets those of pass first + p, a bit for each patch at its place
// in the row.
__device__ __forceinline__ Grades grade_passes(const Machine& machine, const Clauses& clauses,
                                               u32 local, const u32* image, const Head& head,
                                               u32 chunks, u32 first) {
  const u32 most = min(machine.spec.tolerance, included_literals(head));
  const u32* misses = misses_of(machine, clauses, local);
  const u32 pass = min(first + lane_index(), head.rows * chunks - 1);
  const u32 row = kLongRows ? pass / chunks : pass;
  const u32 column = (pass - row * chunks) * machine.lane_columns;
  const u32 y = pixel_row(machine, line_at(machine, row)), x = column * machine.stride_columns;
  const u32 here = min(machine.lane_columns, head.columns - column);
  const bool inside = first + lane_index() < head.rows * chunks;
  Grades grades = {};
  u32 alive = 0;
#pragma unroll 1
  for (u32 c = 0; c < machine.lane_columns; ++c) {
    const u32 missed = c < here ? misses[row] + misses[machine.grid_lines + column + c] : most;
    if (!inside || missed >= most) continue;
    const u32 place = c * machine.stride_columns;
    alive |= 1u << place;
#pragma unroll
    for (u32 k = 0; k < kPlanes; ++k) grades.plane[k] |= (most - missed >> k & 1) << place;
  }
  const auto bits = [&](u32 offset) {
    const u32* words = image + ((offset >> machine.pitch_bits) + y) * machine.row_words;
    const u32 from = x + (offset & ((1u << machine.pitch_bits) - 1));
    if (!kLongRows) return words[0] >> from;
    const u32 word = from / 32;
    const u32 after = word + 1 < machine.row_words ? words[word + 1] : 0;
    return __funnelshift_r(words[word], after, from % 32);
  };
  count_list(list_of(machine, clauses, local, false), head.set, grades, alive,
             [&](u32 entry) { return ~bits(entry); });
  count_list(list_of(machine, clauses, local, true), head.negated, grades, alive,
             [&](u32 entry) { return bits(entry); });
#pragma unroll
  for (u32 k = 0; k < kPlanes; ++k) grades.plane[k] &= alive;
  if (!included_literals(head)) {  // says 1 of every patch
    const u32 shown = inside ? machine.lane_mask & (here * machine.stride_columns < 32
                                                        ? (1u << here * machine.stride_columns) - 1
                                                        : kAll)
                             : 0;
    grades.plane[0] = shown;
  }
  return grades;
}

// The most a clause says of any patch of one image.
__device__ __forceinline__ u32 grade_image(const Machine& machine, const Clauses& clauses,
                                           u32 local, const u32* image) {
  const Head head = clauses.heads[local];
  const u32 chunks = chunks_of(machine, head), passes = head.rows * chunks;
  u32 best = 0;
#pragma unroll 1
  for (u32 first = 0; first < passes; first += 32) {
    const Grades grades = grade_passes(machine, clauses, local, image, head, chunks, first);
    u32 number = 0, open = kAll;  // patches that may have the largest number
#pragma unroll
    for (u32 k = kPlanes; k-- > 0;) {
      const u32 with = open & grades.plane[k];
      if (__any_sync(kAll, with)) open = with, number |= 1u << k;
    }
    best = max(best, number);
  }
  return best;
}

// What a clause says of one flat example, whose bits are `bit` of the words of a batch.
__device__ __forceinline__ u32 grade_one(const Machine& machine, const Clauses& clauses, u32 local,
                                         const u32* words, u32 bit) {
  const Head head = clauses.heads[local];
  const u32 length = head.set + head.negated, most = min(machine.spec.tolerance, length);
  if (!length) return 1;
  const Entry* set = list_of(machine, clauses, local, false);
  const Entry* negated = list_of(machine, clauses, local, true);
  u32 misses = 0;
#pragma unroll 1
  for (u32 first = 0; first < length && misses < most; first += 128) {
    u32 mine = 0;
#pragma unroll
    for (u32 k = first + lane_index(); k < first + 128; k += 32) {
      if (k >= length) continue;
      const bool is_set = k < head.set;
      const u32 entry = is_set ? set[k] : negated[k - head.set];
      mine += ((words[entry] & bit) != 0) != is_set;
    }
    misses += warp_reduce<kSum>(mine);
  }
  return misses < most ? most - misses : 0;
}

// What a clause says of one example: of an image, or of a bit in the words of a batch.
__device__ __forceinline__ u32 grade_example(const Machine& machine, const Clauses& clauses,
                                             u32 local, const u32* image, const u32* words,
                                             u32 bit) {
  if constexpr (kGraded) {
    return kSearches ? grade_image(machine, clauses, local, image)
                     : grade_one(machine, clauses, local, words, bit);
  } else {
    return kSearches ? fires_on(machine, clauses, local, image)
                     : match(machine, clauses, local, words, bit) != 0;
  }
}

// Patches of one image of which a clause says a number, as `search` has them.
__device__ __forceinline__ u32 search_grade(const Machine& machine, const Clauses& clauses,
                                            u32 local, const u32* image, const Head& head,
                                            u32 chunks, u32 first, u32 number) {
  if constexpr (!kGraded) return search(machine, clauses, local, image, head, chunks, first);
  const Grades grades = grade_passes(machine, clauses, local, image, head, chunks, first);
  u32 found = kAll;
#pragma unroll
  for (u32 k = 0; k < kPlanes; ++k) found &= ~(grades.plane[k] ^ (number >> k & 1 ? kAll : 0));
  return found;
}

// One of the patches of an image of which a clause says the most it does, which is `number`;
// `draw` chooses among them, in their order.
__device__ __forceinline__ Patch choose_patch(const Machine& machine, const Clauses& clauses,
                                              u32 local, const u32* image, u32 number, u32 draw) {
  const Head head = clauses.heads[local];
  const Depths depths = depths_of(clauses, local);
  const u32 chunks = chunks_of(machine, head), passes = count_lines(head, depths) * chunks;
  u32 total = 0, rank = 0, found = 0, up_to = 0, first = 0;
  // Counts, and then finds the one that was drawn. Up to 32 passes are searched only once.
#pragma unroll 1
  for (u32 round = 0; round < 2; ++round) {
#pragma unroll 1
    for (first = 0; first < passes; first += 32) {
      if (round == 0 || passes > 32) {
        found = search_grade(machine, clauses, local, image, head, chunks, first, number);
        up_to = __popc(found);
        for (u32 s = 1; s < 32; s *= 2) {
          const u32 below = __shfl_up_sync(kAll, up_to, s);
          if (lane_index() >= s) up_to += below;
        }
      }
      const u32 here = __shfl_sync(kAll, up_to, 31);
      if (round == 0) {
        total += here;
      } else if (rank < here) {
        break;
      } else {
        rank -= here;
      }
    }
    if (round == 0) rank = __umulhi(draw, total);
  }
  const i32 pass = __ffs(__ballot_sync(kAll, rank < up_to)) - 1;
  rank -= __shfl_sync(kAll, up_to - __popc(found), pass);
  found = __shfl_sync(kAll, found, pass);
  const bool hit = (found >> lane_index() & 1) && __popc(found & lanes_below()) == rank;
  const u32 bit = __ffs(__ballot_sync(kAll, hit)) - 1;
  const u32 index = first + pass, row = kLongRows ? index / chunks : index;
  const u32 column =
      head.column + (index - row * chunks) * machine.lane_columns + bit / machine.stride_columns;
  if constexpr (!kDeep) return {head.row + row, column};
  const Line line = line_of(machine, head, depths, row);
  return {line.depth * machine.grid_rows + line.row, column};
}
