// Clauses: their include lists, and where they fire.
//
// Examples come in batches of 32 and in two forms. Bit-sliced, a batch has a word for every bit of
// the input, and in that word a bit for each of the 32 examples: the AND over a clause's literals
// then matches it with the whole batch at once (`match`). As images, examples are rows of bits: a
// clause is then matched with all patches of a row at once (`search`). One warp works on one
// clause.

#pragma once

#include "options.cuh"
#include "warps.cuh"

// The clauses of one block, or all of them, in shared or in global memory.
struct Clauses {
  u32 first, count;  // "local" clause numbers count from the first
  i8* rows;
  i32* weights;
  Entry* lists;
  Head* heads;
  u32* misses;
  Depths* depths;
  const u32* offsets;
};

// Four entries at a time; lists are aligned and padded for this.
struct alignas(kUnroll * sizeof(Entry)) Entries {
  Entry of[kUnroll];
};

__device__ __forceinline__ Entry* list_of(const Machine& machine, const Clauses& clauses, u32 local,
                                          bool negated) {
  return clauses.lists + (2 * static_cast<u64>(local) + negated) * machine.capacity;
}

// a / b by the inverse of b, which is 2^32 - 1 divided by it.
__device__ __forceinline__ u32 divide(u32 a, u32 b, u32 inverse) {
  const u32 quotient = __umulhi(a, inverse);
  return a - quotient * b >= b ? quotient + 1 : quotient;
}

// A row of patches: at which depth of a volume it lies, and which row it is there.
struct Line {
  u32 depth, row;
};

// By its number among those of all depths.
__device__ __forceinline__ Line line_at(const Machine& machine, u32 number) {
  if constexpr (!kVolumes) return {0, number};
  const u32 depth = divide(number, machine.grid_rows, machine.inverse_rows);
  return {depth, number - depth * machine.grid_rows};
}

// The row of pixels at which it begins.
__device__ __forceinline__ u32 pixel_row(const Machine& machine, const Line& line) {
  const u32 row = line.row * machine.stride_rows;
  return kVolumes ? line.depth * machine.depth_step + row : row;
}

// Words of a batch before the first bit of a patch.
__device__ __forceinline__ u32 patch_offset(const Machine& machine, const Line& line, u32 column) {
  return (pixel_row(machine, line) << machine.pitch_bits) + column * machine.stride_columns;
}

__device__ __forceinline__ Depths depths_of(const Clauses& clauses, u32 local) {
  if constexpr (kDeep) return clauses.depths[local];
  return {};
}

// How many rows of patches a clause's window has, and one of them by its number there.
__device__ __forceinline__ u32 count_lines(const Head& head, const Depths& depths) {
  return kDeep ? depths.count * head.rows : head.rows;
}

__device__ __forceinline__ Line line_of(const Machine& machine, const Head& head,
                                        const Depths& depths, u32 number) {
  if constexpr (!kDeep) return line_at(machine, head.row + number);
  const u32 depth = divide(number, head.rows, depths.inverse);
  return {depths.first + depth, head.row + number - depth * head.rows};
}

// The examples of `alive` on which a clause fires, from the words of their batch; the same in all
// lanes. A lane takes a patch, or several lanes share one where there are few.
__device__ __forceinline__ u32 match(const Machine& machine, const Clauses& clauses, u32 local,
                                     const u32* words, u32 alive) {
  const Head head = clauses.heads[local];
  const Depths depths = depths_of(clauses, local);
  const Entry* set = list_of(machine, clauses, local, false);
  const Entry* negated = list_of(machine, clauses, local, true);
  const u32 patches = kSearches ? count_lines(head, depths) * head.columns : 1;
  const u32 width = patches > 16 ? 32 : patches > 1 ? 1u << (32 - __clz(patches - 1)) : 1;
  u32 all = 0;
#pragma unroll 1
  for (u32 p = 0; p < patches && all != alive; p += width) {
    const u32 patch = p + (lane_index() & (width - 1));
    const bool inside = patch < patches;
    u32 found = inside ? alive & ~all : 0;
    const u32* base = words;
    if (kSearches) {
      const u32 row = inside ? divide(patch, head.columns, head.inverse) : 0;
      const u32 column = inside ? patch - row * head.columns : 0;
      base += patch_offset(machine, line_of(machine, head, depths, row), head.column + column);
    }
    if (width == 32) {
      bool alive_somewhere = true;
#pragma unroll 1
      for (u32 k = 0; alive_somewhere && k < head.set; k += kUnroll) {
        const Entries entries = *reinterpret_cast<const Entries*>(set + k);
#pragma unroll
        for (u32 u = 0; u < kUnroll; ++u) found &= base[entries.of[u]];
        alive_somewhere = __any_sync(kAll, found);
      }
#pragma unroll 1
      for (u32 k = 0; alive_somewhere && k < head.negated; k += kUnroll) {
        const Entries entries = *reinterpret_cast<const Entries*>(negated + k);
#pragma unroll
        for (u32 u = 0; u < kUnroll; ++u) found &= ~base[entries.of[u]];
        alive_somewhere = __any_sync(kAll, found);
      }
    } else {
      const u32 start = lane_index() / width, step = 32 / width;
#pragma unroll 2
      for (u32 k = start; k < head.set; k += step) found &= base[set[k]];
#pragma unroll 2
      for (u32 k = start; k < head.negated; k += step) found &= ~base[negated[k]];
#pragma unroll 1
      for (u32 s = width; s < 32; s *= 2) found &= __shfl_xor_sync(kAll, found, s);
    }
    all |= warp_reduce<kOr>(found);
  }
  return all;
}

// Patches of one image that satisfy a clause, from the rows of the image. A pass takes those of
// one row within 32 bits; lane p gets what pass first + p found, a bit for each patch at its place
// in the row.
__device__ __forceinline__ u32 search(const Machine& machine, const Clauses& clauses, u32 local,
                                      const u32* image, const Head& head, u32 chunks, u32 first) {
  const Entry* set = list_of(machine, clauses, local, false);
  const Entry* negated = list_of(machine, clauses, local, true);
  const Depths depths = depths_of(clauses, local);
  const u32 length = head.set + head.negated;
  const u32 passes = min(32u, count_lines(head, depths) * chunks - first);
  const auto place = [&](u32 pass, u32& y, u32& x) {
    const u32 row = kLongRows ? (first + pass) / chunks : first + pass;
    x = (head.column + (first + pass - row * chunks) * machine.lane_columns) *
        machine.stride_columns;
    y = pixel_row(machine, line_of(machine, head, depths, row));
  };
  u32 mine = 0, y, x;
  if (lane_index() < passes) {
    place(lane_index(), y, x);
    const u32 left = (head.column + head.columns) * machine.stride_columns - x;
    mine = left < 32 ? machine.lane_mask & ((1u << left) - 1) : machine.lane_mask;
  }
#pragma unroll 1
  for (u32 first_literal = 0; first_literal < length; first_literal += 32) {
    const u32 k = first_literal + lane_index();
    const bool has = k < length;
    const u32 offset = k < head.set ? set[k] : has ? negated[k - head.set] : 0;
    const u32 flip = k < head.set ? 0 : kAll;
    const u32* rows = image + (offset >> machine.pitch_bits) * machine.row_words;
    const u32 shift = offset & ((1u << machine.pitch_bits) - 1);
#pragma unroll 4
    for (u32 pass = 0; pass < passes; ++pass) {
      place(pass, y, x);
      u32 bits;
      if (kLongRows) {
        const u32* row = rows + y * machine.row_words;
        const u32 from = x + shift, word = from / 32;
        const u32 after = word + 1 < machine.row_words ? row[word + 1] : 0;
        bits = __funnelshift_r(row[word], after, from % 32);
      } else {
        bits = rows[y] >> (x + shift);
      }
      const u32 found = warp_reduce<kAnd>(has ? bits ^ flip : kAll);
      if (pass == lane_index()) mine &= found;
    }
    if (!__any_sync(kAll, mine)) break;
  }
  return mine;
}

__device__ __forceinline__ u32 chunks_of(const Machine& machine, const Head& head) {
  return kLongRows ? (head.columns + machine.lane_columns - 1) / machine.lane_columns : 1;
}

__device__ __forceinline__ bool fires_on(const Machine& machine, const Clauses& clauses, u32 local,
                                         const u32* image) {
  const Head head = clauses.heads[local];
  if (head.rows == 0 || head.columns == 0) return false;
  const u32 chunks = chunks_of(machine, head);
  const u32 passes = count_lines(head, depths_of(clauses, local)) * chunks;
#pragma unroll 1
  for (u32 first = 0; first < passes; first += 32) {
    if (__any_sync(kAll, search(machine, clauses, local, image, head, chunks, first))) return true;
  }
  return false;
}

__device__ __forceinline__ u32* row_of(const Machine& machine, const Clauses& clauses, u32 local) {
  return reinterpret_cast<u32*>(clauses.rows + static_cast<u64>(local) * machine.row_bytes);
}

// Word k of a row of bytes without the literals that sleep, which count as excluded. Only the signs
// of what is left mean something.
__device__ __forceinline__ u32 awake_pair(const Machine& machine, const u32* row, u32 k) {
  return kSleeps ? row[k] | ~machine.awake[k] : row[k];
}

// Whether a clause includes a position feature, and its negation.
struct Included {
  bool beyond, within;
};

__device__ __forceinline__ u32 row_features(const Machine& machine) {
  return machine.grid_rows - 1;
}

// Features of the depth come before those of the row.
__device__ __forceinline__ u32 depth_features(const Machine& machine) {
  return kVolumes ? machine.grid_depths - 1 : 0;
}

// Words that hold a bit of every feature of a patch.
__device__ __forceinline__ u32 feature_words(const Machine& machine) {
  return (machine.features + 31) / 32;
}

__device__ __forceinline__ Included included_position(const Machine& machine, const u32* row,
                                                      u32 f) {
  if constexpr (kSampled) {
    const u32 words = feature_words(machine);
    const u32* signs = row + 14 * words;  // of the features, and then of their negations
    u32 in = ~signs[f / 32], negated_in = ~signs[words + f / 32];
    if (kSleeps) in &= machine.awake[f / 32], negated_in &= machine.awake[words + f / 32];
    return {(in >> f % 32 & 1) != 0, (negated_in >> f % 32 & 1) != 0};
  } else {
    const u32 pair = awake_pair(machine, row, f / 2) >> f % 2 * 16;
    return {!(pair & 0x80), !(pair & 0x8000)};
  }
}

// Counts the included position literals.
__device__ __forceinline__ u32 count_placed(const Machine& machine, const u32* row) {
  u32 placed = 0;
#pragma unroll 1
  for (u32 f = lane_index(); f < machine.positions; f += 32) {
    const Included included = included_position(machine, row, f);
    placed += included.beyond + included.within;
  }
  return warp_reduce<kSum>(placed);
}

// How many included literals of one axis a place on it misses. Of the position features of an axis,
// which are `count` from `first` on, number t is 1 where a patch lies beyond t.
__device__ __forceinline__ u32 axis_misses(const Machine& machine, const u32* row, u32 place,
                                           u32 first, u32 count) {
  u32 missed = 0;
#pragma unroll 1
  for (u32 t = 0; t < count; ++t) {
    const Included included = included_position(machine, row, first + t);
    missed += place > t ? included.within : included.beyond;
  }
  return missed;
}

// Counts the included position literals that patches of each row, and of each column, miss.
__device__ __forceinline__ void count_misses(const Machine& machine, const u32* row, u32* misses) {
  const u32 lines = machine.grid_lines, of_rows = row_features(machine);
  const u32 of_depths = depth_features(machine), before_columns = of_depths + of_rows;
#pragma unroll 1
  for (u32 k = lane_index(); k < lines + machine.grid_columns; k += 32) {
    const bool is_row = k < lines;
    const Line line = line_at(machine, k);
    const u32 place = is_row ? line.row : k - lines, first = is_row ? of_depths : before_columns;
    const u32 count = is_row ? of_rows : machine.positions - before_columns;
    u32 missed = axis_misses(machine, row, place, first, count);
    if (kVolumes && is_row) missed += axis_misses(machine, row, line.depth, 0, of_depths);
    misses[k] = missed;
  }
}

// The depths that a clause's included position literals leave.
__device__ __forceinline__ Depths narrow_depths(const Machine& machine, const u32* row) {
  const i32 of_depths = static_cast<i32>(depth_features(machine));
  i32 front = 0, back = -of_depths;  // the latter negative, so that both are maxima
#pragma unroll 1
  for (i32 t = static_cast<i32>(lane_index()); t < of_depths; t += 32) {
    const auto [beyond, within] = included_position(machine, row, static_cast<u32>(t));
    if (beyond) front = max(front, t + 1);
    if (within) back = max(back, -t);
  }
  front = warp_reduce<kMax>(front), back = warp_reduce<kMax>(back);
  return {static_cast<u32>(front), static_cast<u32>(max(0, 1 - back - front)), 0};
}

// Sets a clause's window to the patches that its included position literals leave.
__device__ __forceinline__ void narrow_window(const Machine& machine, const u32* row, Head& head) {
  const i32 of_rows = static_cast<i32>(row_features(machine));
  // Bounds of the window; the upper ones negative, so that all are maxima.
  i32 top = 0, left = 0, bottom = -of_rows, right = 1 - static_cast<i32>(machine.grid_columns);
  const u32 before = depth_features(machine);
#pragma unroll 1
  for (u32 f = before + lane_index(); f < machine.positions; f += 32) {
    const auto [beyond, within] = included_position(machine, row, f);
    const i32 place = static_cast<i32>(f - before);
    const bool of_row = place < of_rows;
    const i32 t = of_row ? place : place - of_rows;
    if (of_row && beyond) top = max(top, t + 1);
    if (of_row && within) bottom = max(bottom, -t);
    if (!of_row && beyond) left = max(left, t + 1);
    if (!of_row && within) right = max(right, -t);
  }
  top = warp_reduce<kMax>(top), bottom = warp_reduce<kMax>(bottom), left = warp_reduce<kMax>(left),
  right = warp_reduce<kMax>(right);
  head.row = static_cast<u32>(top);
  head.rows = static_cast<u32>(max(0, 1 - bottom - top));
  head.column = static_cast<u32>(left);
  head.columns = static_cast<u32>(max(0, 1 - right - left));
}

// The head of a clause with lists of these lengths, whose window is everything.
__device__ __forceinline__ Head whole_head(const Machine& machine, const u32 (&length)[2]) {
  const u32 rows = kGraded ? machine.grid_lines : machine.grid_rows;
  return {0, rows, 0, machine.grid_columns, 0, length[0], length[1], 0};
}

// Completes lists and head of a clause after changes. Lists are padded with an entry they have,
// which changes no AND; what counts literals stops before.
__device__ __forceinline__ void finish_lists(const Machine& machine, const Clauses& clauses,
                                             u32 local, Head head, bool window_changed) {
  __syncwarp();
  if (kSearches && window_changed) {
    const u32* row = row_of(machine, clauses, local);
    if (kGraded) {
      count_misses(machine, row,
                   clauses.misses + u64{local} * (machine.grid_lines + machine.grid_columns));
    } else {
      narrow_window(machine, row, head);
    }
    if constexpr (kDeep) {
      Depths depths = narrow_depths(machine, row);
      if (!depths.count) head.rows = 0;
      depths.inverse = head.rows ? kAll / head.rows : 0;
      if (lane_index() == 0) clauses.depths[local] = depths;
    }
    if (kGraded || kBounded) head.others = count_placed(machine, row);
    head.inverse = head.columns ? kAll / head.columns : 0;
  }
  __syncwarp();
  if (lane_index() < 2 * kUnroll) {
    const u32 which = lane_index() / kUnroll, place = lane_index() % kUnroll;
    const u32 length = which ? head.negated : head.set;
    Entry* list = list_of(machine, clauses, local, which);
    if (length && place < (kUnroll - length % kUnroll) % kUnroll) list[length + place] = list[0];
  }
  if (lane_index() == 0) clauses.heads[local] = head;
  __syncwarp();
}

// Makes the lists and the head of a clause from its row. A lane reads two features with their
// negations, which are four bytes.
__device__ __forceinline__ void rebuild(const Machine& machine, const Clauses& clauses, u32 local) {
  const u32* row = row_of(machine, clauses, local);
  const u32 start = machine.positions / 2, end = (machine.features + 1) / 2;
  u32 length[2] = {0, 0};
#pragma unroll 1
  for (u32 first = start; first < end; first += 32) {
    const u32 k = first + lane_index();
    u32 in = k < end ? ~awake_pair(machine, row, k) & 0x80808080u : 0;
    if (k == start && machine.positions % 2) in &= 0xFFFF0000u;  // a feature before the content
    if (!__any_sync(kAll, in)) continue;
#pragma unroll
    for (u32 j = 0; j < 4; ++j) {
      const bool mine = in >> (8 * j + 7) & 1;
      const u32 lanes = __ballot_sync(kAll, mine);
      if (mine) {
        list_of(machine, clauses, local, j % 2)[length[j % 2] + __popc(lanes & lanes_below())] =
            static_cast<Entry>(clauses.offsets[2 * k + j / 2 - machine.positions]);
      }
      length[j % 2] += __popc(lanes);
    }
  }
  finish_lists(machine, clauses, local, whole_head(machine, length), true);
}

// Adds a literal to a clause's lists, or takes it away; the same arguments in all lanes.
__device__ __forceinline__ void edit(const Machine& machine, const Clauses& clauses, u32 local,
                                     Head& head, u32 feature, bool negated, bool adds) {
  Entry* list = list_of(machine, clauses, local, negated);
  const Entry entry = static_cast<Entry>(clauses.offsets[feature - machine.positions]);
  u32 length = negated ? head.negated : head.set;
  __syncwarp();
  if (adds) {
    if (lane_index() == 0) list[length] = entry;
    ++length;
  } else {
    const Entry last = list[--length];
    __syncwarp();
#pragma unroll 1
    for (u32 k = lane_index(); k <= length; k += 32) {
      if (list[k] == entry) list[k] = last;
    }
  }
  (negated ? head.negated : head.set) = length;
}
