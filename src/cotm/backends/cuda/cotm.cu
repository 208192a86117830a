// The Coalesced Tsetlin Machine on a GPU; cuda.py compiles and launches this.
//
// Training is one launch for many examples. Blocks of threads own clauses, so only votes cross
// between them: once per example, through words that count their own arrivals (see `cast`).
// Examples come in batches of 32, in two forms: turned inside out, a word of 32 examples per
// input bit, with which a clause is matched with the whole batch at once; and as they are, rows
// of bits, with which it is matched with all patches of a row at once. A clause is matched with
// a batch when that starts, and again when its literals change, which is seldom. One warp works
// on one clause.
//
// The arithmetic is that of reference.py, bit for bit. Names follow it and the native backend.

using i8 = signed char;
using u8 = unsigned char;
using u16 = unsigned short;
using i32 = int;
using u32 = unsigned int;
using i64 = long long;
using u64 = unsigned long long;

// What cuda.py chooses for a machine. Code that a machine does not need is left out, because all
// of it should fit the instruction caches.
using Entry = COTM_ENTRY;  // of an include list: u16 where that holds all offsets, else u32
using Sum = COTM_SUM;      // of one block's votes: i32 where no sum can leave it, else i64
constexpr bool kSearches = COTM_SEARCHES;   // examples have several patches
constexpr bool kLongRows = COTM_LONG_ROWS;  // a row of an image takes several words
constexpr bool kMany = COTM_MANY;           // more outputs than lanes
constexpr bool kLimited = COTM_LIMITED;     // max_literals is set
constexpr bool kListed = COTM_LISTED;       // a block lists the clauses that get feedback; else its
                                            // warps look through their own

constexpr u32 kAll = 0xFFFFFFFFu;  // every lane of a warp, every example of a batch
constexpr u32 kBatch = 32;         // examples ahead, a bit of a word each
constexpr u32 kKeys = 32;          // draws' keys a warp keeps; more are computed as needed
constexpr u32 kUnroll = 4;         // list entries read at a time; lists are padded to it
constexpr u32 kPieces = 3;         // of 64 features, updated at a time
constexpr u32 kEdits = 6;          // more changes to a list, and it is made anew

// The included literals of a clause: its window, which are the patches that position literals
// leave, and how many others there are.
struct Head {
  u32 row, rows, column, columns;
  u32 inverse;       // of columns
  u32 set, negated;  // lengths of the lists: bits that must be 1, and 0
};

struct Patch {
  u32 row, column;
};

// What cuda.py passes by value: the same fields in the same order.
struct Machine {
  i8* rows;            // [n][row_bytes]: feature 0, its negation, feature 1, ...
  i32* weights;        // [n][m]
  Entry* lists;        // [n][2][capacity]: offsets of bits that must be 1, and 0
  Head* heads;         // [n]
  u32* ahead;          // [n][2]: scratch, see Clauses
  Patch* slots;        // [n]: scratch, a patch or a number of a clause
  u32* is_chosen;      // [n / 32 + blocks]: scratch of selection
  u8* outputs;         // [blocks][output_bytes]: scratch per output
  u32* fresh;          // [warps][4 * row words]: scratch of max_literals
  const u32* offsets;  // [content features]: words between a patch's first bit and the feature
  u64 seed;
  i64 T;
  double per_full;  // 1 / (2 T)
  u32 n, m;
  u32 features, positions;  // of a patch; the first `positions` tell where it lies
  u32 grid_rows, grid_columns, stride_rows, stride_columns;
  u32 pitch_bits;               // a row of an image takes 1 << pitch_bits words of a batch
  u32 words;                    // of a batch turned inside out
  u32 row_words;                // of a row of an image
  u32 image_words;              // of an image; 0 where there is one patch, which needs no search
  u32 lane_columns, lane_mask;  // patches side by side in 32 bits, and the bits they start at
  u32 row_bytes, capacity;
  u32 q;
  i32 depth;
  u32 max_literals;  // 0: no limit
  i32 max_weight;
  u32 boost, e_scales_type2, sharing, learn_weights;
};

struct Task {
  const u32* batches;  // [batch][words]
  const u32* images;   // [batch][32][image_words]
  const u8* targets;   // [count][m], in the order of presentation
  const u64* scales;   // [count][2] or [1][2]
  u64* ballot;         // [2][m], zero at the start
  u64* counts;         // hits, correct
  u64 step;
  u32 count;
  u32 one_scale;
};

// What may lie in shared or in global memory, in the order in which shared memory is given out;
// COTM_SHARED has a bit for each.
enum Part : u32 { kOutputs, kWords, kImages, kOffsets, kHeads, kWeights, kRows, kLists };

__device__ constexpr bool shares(Part part) { return COTM_SHARED >> part & 1; }

// ---- Randomness: twin of randomness.py ----------------------------------------------------

enum Purpose : u64 { kSelect = 0, kDraw = 1, kPatch = 2, kLimit = 3 };

struct Key {
  u32 a, b;
};

__device__ __forceinline__ u64 mix64(u64 z) {
  z += 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

__device__ __noinline__ Key make_key(u64 step_key, Purpose purpose, u64 output, u64 clause) {
  const u64 lane = static_cast<u64>(purpose) << 56 | output << 32 | clause;
  const u64 z = mix64(step_key + lane * 0x9E3779B97F4A7C15u);
  return {static_cast<u32>(z), static_cast<u32>(z >> 32) | 1u};
}

__device__ __forceinline__ u32 hash32(Key key, u32 index) {
  const u32 w = index * 0x9E3779B9u;
  u32 x = w ^ (w >> 16) ^ key.a;
  x *= 2 * x + key.b;
  return x ^ (x >> 16);
}

// ---- Warps --------------------------------------------------------------------------------

__device__ __forceinline__ u32 lane_index() { return threadIdx.x % 32; }
__device__ __forceinline__ u32 warp_index() { return threadIdx.x / 32; }
__device__ __forceinline__ u32 warp_count() { return blockDim.x / 32; }
__device__ __forceinline__ u32 lanes_below() { return (1u << lane_index()) - 1; }

__device__ __forceinline__ u32 warp_or(u32 v) {
#if __CUDA_ARCH__ >= 800
  return __reduce_or_sync(kAll, v);
#else
  for (u32 s = 16; s; s /= 2) v |= __shfl_xor_sync(kAll, v, s);
  return v;
#endif
}

__device__ __forceinline__ u32 warp_and(u32 v) {
#if __CUDA_ARCH__ >= 800
  return __reduce_and_sync(kAll, v);
#else
  for (u32 s = 16; s; s /= 2) v &= __shfl_xor_sync(kAll, v, s);
  return v;
#endif
}

__device__ __forceinline__ i32 warp_max(i32 v) {
#if __CUDA_ARCH__ >= 800
  return __reduce_max_sync(kAll, v);
#else
  for (u32 s = 16; s; s /= 2) v = max(v, __shfl_xor_sync(kAll, v, s));
  return v;
#endif
}

__device__ __forceinline__ u32 warp_sum(u32 v) {
#if __CUDA_ARCH__ >= 800
  return __reduce_add_sync(kAll, v);
#else
  for (u32 s = 16; s; s /= 2) v += __shfl_xor_sync(kAll, v, s);
  return v;
#endif
}

__device__ __forceinline__ void add(i32* to, i32 value) { atomicAdd(to, value); }
__device__ __forceinline__ void add(i64* to, i64 value) {
  atomicAdd(reinterpret_cast<u64*>(to), static_cast<u64>(value));
}

// ---- Clauses ------------------------------------------------------------------------------

// The clauses of one block, or all of them, wherever they lie.
struct Clauses {
  u32 first, count;  // "local" clause numbers count from the first
  i8* rows;
  i32* weights;
  Entry* lists;
  Head* heads;
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

// Words of a batch before the first bit of a patch.
__device__ __forceinline__ u32 patch_offset(const Machine& machine, u32 row, u32 column) {
  return (row * machine.stride_rows << machine.pitch_bits) + column * machine.stride_columns;
}

// The examples of `alive` on which a clause fires, from the words of their batch; the same in all
// lanes. A lane takes a patch, or several lanes share one where there are few.
__device__ __forceinline__ u32 match(const Machine& machine, const Clauses& clauses, u32 local,
                                     const u32* words, u32 alive) {
  const Head head = clauses.heads[local];
  const Entry* set = list_of(machine, clauses, local, false);
  const Entry* negated = list_of(machine, clauses, local, true);
  const u32 patches = kSearches ? head.rows * head.columns : 1;
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
      base += patch_offset(machine, head.row + row, head.column + column);
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
    all |= warp_or(found);
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
  const u32 length = head.set + head.negated;
  const u32 passes = min(32u, head.rows * chunks - first);
  const auto place = [&](u32 pass, u32& y, u32& x) {
    const u32 row = kLongRows ? (first + pass) / chunks : first + pass;
    x = (head.column + (first + pass - row * chunks) * machine.lane_columns) *
        machine.stride_columns;
    y = (head.row + row) * machine.stride_rows;
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
      const u32 found = warp_and(has ? bits ^ flip : kAll);
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
  const u32 chunks = chunks_of(machine, head), passes = head.rows * chunks;
#pragma unroll 1
  for (u32 first = 0; first < passes; first += 32) {
    if (__any_sync(kAll, search(machine, clauses, local, image, head, chunks, first))) return true;
  }
  return false;
}

// One of the patches of an image that satisfy a clause, drawn uniformly in their order.
__device__ __forceinline__ Patch choose_patch(const Machine& machine, const Clauses& clauses,
                                              u32 local, const u32* image, u32 draw) {
  const Head head = clauses.heads[local];
  const u32 chunks = chunks_of(machine, head), passes = head.rows * chunks;
  u32 total = 0, rank = 0, found = 0, up_to = 0, first = 0;
  // Counts, and then finds the one that was drawn. Up to 32 passes are searched only once.
#pragma unroll 1
  for (u32 round = 0; round < 2; ++round) {
#pragma unroll 1
    for (first = 0; first < passes; first += 32) {
      if (round == 0 || passes > 32) {
        found = search(machine, clauses, local, image, head, chunks, first);
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
  return {head.row + row, head.column + (index - row * chunks) * machine.lane_columns +
                              bit / machine.stride_columns};
}

__device__ __forceinline__ u32* row_of(const Machine& machine, const Clauses& clauses, u32 local) {
  return reinterpret_cast<u32*>(clauses.rows + static_cast<u64>(local) * machine.row_bytes);
}

// The patches that the included position literals of a clause leave.
__device__ __forceinline__ void narrow_window(const Machine& machine, const u32* row, Head& head) {
  const i32 row_features = static_cast<i32>(machine.grid_rows) - 1;
  // Bounds of the window; the upper ones negative, so that all are maxima.
  i32 top = 0, left = 0, bottom = -row_features, right = 1 - static_cast<i32>(machine.grid_columns);
#pragma unroll 1
  for (u32 f = lane_index(); f < machine.positions; f += 32) {
    const u32 pair = row[f / 2] >> f % 2 * 16;
    const bool beyond = !(pair & 0x80), within = !(pair & 0x8000);
    const bool of_row = static_cast<i32>(f) < row_features;
    const i32 t = of_row ? static_cast<i32>(f) : static_cast<i32>(f) - row_features;
    if (of_row && beyond) top = max(top, t + 1);
    if (of_row && within) bottom = max(bottom, -t);
    if (!of_row && beyond) left = max(left, t + 1);
    if (!of_row && within) right = max(right, -t);
  }
  top = warp_max(top), bottom = warp_max(bottom), left = warp_max(left), right = warp_max(right);
  head.row = static_cast<u32>(top);
  head.rows = static_cast<u32>(max(0, 1 - bottom - top));
  head.column = static_cast<u32>(left);
  head.columns = static_cast<u32>(max(0, 1 - right - left));
}

// Ends lists and head of a clause after changes. Lists are padded with an entry they have.
__device__ __forceinline__ void finish_lists(const Machine& machine, const Clauses& clauses,
                                             u32 local, Head& head, bool window_changed) {
  __syncwarp();
  if (kSearches && window_changed) {
    narrow_window(machine, row_of(machine, clauses, local), head);
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

// Writes down the included literals of a clause. A lane reads two features with their negations,
// four bytes.
__device__ __forceinline__ void rebuild(const Machine& machine, const Clauses& clauses, u32 local) {
  const u32* row = row_of(machine, clauses, local);
  const u32 start = machine.positions / 2, end = (machine.features + 1) / 2;
  u32 length[2] = {0, 0};
#pragma unroll 1
  for (u32 first = start; first < end; first += 32) {
    const u32 k = first + lane_index();
    u32 in = k < end ? ~row[k] & 0x80808080u : 0;
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
  Head head = {0, machine.grid_rows, 0, machine.grid_columns, 0, length[0], length[1]};
  finish_lists(machine, clauses, local, head, true);
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

// ---- One block in training ----------------------------------------------------------------

// Per output, and what else a block needs for the step at hand.
struct Outputs {
  i64* total;      // [2][m]: votes of all clauses, by turns
  u64* before;     // [2][m]: the ballot's words when they were last read, by turns
  u64* threshold;  // [2][m]: of Type I and Type II pairs
  Key* select;     // [2][m], by turns
  Sum* partial;    // [2][m]: votes of own clauses, for the current example and the next, by turns
  u8* target;      // [m]
};

struct Shared {     // small things that always lie in shared memory
  u32 chosen;       // clauses on the list of those that get feedback
  u64 step_key[2];  // by turns
  Key patch[2];
};

struct Trainer {
  const Machine& machine;
  const Task& task;
  Clauses clauses;
  Outputs outputs;
  Shared* shared;
  Key* keys;        // of this warp
  u32* ahead;       // [2][clauses]: a bit per example of a batch on which it fires, by turns
  Patch* slots;     // patches drawn for clauses that fire; or, first, the list of the chosen
  u32* is_chosen;   // a bit per local clause
  u32* own_words;   // [2][words]: batches in shared memory, by turns
  u32* own_images;  // [2][32][image_words]
  u32 turn;         // the example at hand

  __device__ __forceinline__ u32* ahead_of(u32 turn) const {
    return ahead + turn / kBatch % 2 * clauses.count;
  }
  __device__ __forceinline__ const u32* words_of(u32 turn) const {
    return shares(kWords) ? own_words + turn / kBatch % 2 * machine.words
                          : task.batches + static_cast<u64>(turn / kBatch) * machine.words;
  }
  __device__ __forceinline__ const u32* image_of(u32 turn) const {
    return shares(kImages) ? own_images + turn % (2 * kBatch) * machine.image_words
                           : task.images + static_cast<u64>(turn) * machine.image_words;
  }
  __device__ __forceinline__ bool fires(u32 local, u32 turn) const {
    return ahead_of(turn)[local] >> turn % kBatch & 1;
  }
  __device__ __forceinline__ u32* chosen() const { return reinterpret_cast<u32*>(slots); }
  __device__ __forceinline__ u64 step_key() const { return shared->step_key[turn % 2]; }
};

__host__ __device__ __forceinline__ u32 output_bytes(u32 m) {
  return (m * static_cast<u32>(2 * sizeof(Sum) + 6 * sizeof(u64) + 2 * sizeof(Key)) + m + 15) / 16 *
         16;
}

// The words through which votes cross blocks: each is the sum of arrivals << 48 and votes since
// the launch. A block has read a step's word when the arrivals since the last reading are those
// of all blocks; nobody can arrive at the next but one step before everybody has.
__device__ __forceinline__ void cast(u64* word, i64 votes) {
  const u64 ballot = (u64{1} << 48) + static_cast<u64>(votes);
  asm volatile("red.relaxed.gpu.global.add.u64 [%0], %1;" ::"l"(word), "l"(ballot) : "memory");
}

__device__ __forceinline__ i64 collect(const u64* word, u64& before) {
  for (;;) {
    u64 now;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(now) : "l"(word) : "memory");
    const i64 news = static_cast<i64>(now - before);
    const i64 votes = static_cast<i64>(static_cast<u64>(news) << 16) >> 16;
    if (static_cast<u32>((news - votes) >> 48) == gridDim.x) {
      before = now;
      return votes;
    }
  }
}

// distance * scale / (2 T), rounded down, and at most 2**32, which is certainty.
__device__ __forceinline__ u64 scaled(const Machine& machine, u64 distance, u64 scale) {
  const u64 full = 2 * static_cast<u64>(machine.T);
  const u64 product = distance * scale;
  if (scale > u64{1} << 32 && (__umul64hi(distance, scale) || product >= full << 32)) {
    return u64{1} << 32;
  }
  u64 quotient = static_cast<u64>(static_cast<double>(product) * machine.per_full);
  if (quotient * full > product) --quotient;
  if (product - quotient * full >= full) ++quotient;
  return quotient;
}

__device__ void set_thresholds(Trainer& t, u32 i, i64 votes, u8 target, const u64* scale) {
  const Machine& machine = t.machine;
  const i64 clipped = min(max(votes, -machine.T), machine.T);
  const u64 distance = static_cast<u64>(target ? machine.T - clipped : machine.T + clipped);
  const u64 factor1 = machine.e_scales_type2 || target ? scale[0] : scale[1];
  const u64 factor2 = machine.e_scales_type2 ? scale[1] : factor1;
  t.outputs.threshold[i] = scaled(machine, distance, factor1);
  t.outputs.threshold[machine.m + i] = scaled(machine, distance, factor2);
  t.outputs.target[i] = target;
}

// 1 or 2: the type of feedback that output i has for a clause; 0: none, or none that does
// anything, which is Type II where the clause does not fire.
__device__ __forceinline__ u32 selected_type(const Trainer& t, u32 i, u32 pi, bool negative,
                                             bool fires) {
  const bool type2 = negative == (t.outputs.target[i] != 0);
  const u64 threshold = t.outputs.threshold[(type2 ? t.machine.m : 0) + i];
  return pi < threshold && (!type2 || fires) ? 1 + type2 : 0;
}

__device__ __forceinline__ u32 feedback_type(const Trainer& t, u32 local, u32 i, bool fires) {
  const u32 clause = t.clauses.first + local;
  const bool negative = t.clauses.weights[static_cast<u64>(local) * t.machine.m + i] < 0;
  const u32 type = selected_type(
      t, i, hash32(t.outputs.select[t.turn % 2 * t.machine.m + i], clause), negative, fires);
  if (t.machine.sharing) return type;
  const u64 place = static_cast<u64>(clause) * t.machine.m, n = t.machine.n;
  return i * n <= place && place < (i + 1) * n ? type : 0;  // an output selects among its own
}

// What a clause is told about one example.
struct Feedback {
  bool fires;
  u32 type1, type2;  // outputs that give it
  const u32* base;   // words of the patch it learns from
  u32 bit;           // of the example in a word
  u32 row, column;   // of that patch
};

// Calls visit with the key of every Type I draw.
template <class Visit>
__device__ __forceinline__ void each_key(const Trainer& t, u32 local, const Feedback& feedback,
                                         Visit visit) {
  if (kMany && feedback.type1 > kKeys) {
#pragma unroll 1
    for (u32 first = 0; first < t.machine.m; first += 32) {
      const u32 i = first + lane_index();
      const bool gives = i < t.machine.m && feedback_type(t, local, i, feedback.fires) == 1;
      const Key key = make_key(t.step_key(), kDraw, i, t.clauses.first + local);
      for (u32 lanes = __ballot_sync(kAll, gives); lanes; lanes &= lanes - 1) {
        const i32 lane = __ffs(lanes) - 1;
        visit(Key{__shfl_sync(kAll, key.a, lane), __shfl_sync(kAll, key.b, lane)});
      }
    }
  } else {
#pragma unroll 1
    for (u32 k = 0; k < feedback.type1; ++k) visit(t.keys[k]);
  }
}

// Whether a feature of the patch a clause learns from is 1. `placed`: it may tell the position.
__device__ __forceinline__ bool feature_value(const Trainer& t, const Feedback& feedback, u32 f,
                                              bool placed) {
  const u32 positions = t.machine.positions;
  const u32 content = min(f, t.machine.features - 1) - positions;
  if (!kSearches || !placed) return feedback.base[t.clauses.offsets[content]] & feedback.bit;
  const u32 offset = f < positions ? 0 : t.clauses.offsets[content];
  const bool value = feedback.base[offset] & feedback.bit;
  const u32 row_features = t.machine.grid_rows - 1;
  const bool beyond = f < row_features ? feedback.row > f : feedback.column > f - row_features;
  return f < positions ? beyond : value;
}

// Calls visit(entry, hash) for every literal that is newly included.
template <class Visit>
__device__ __forceinline__ void each_fresh(const Trainer& t, u32 local, Key key, const u32* fresh,
                                           Visit visit) {
  i8* row = reinterpret_cast<i8*>(row_of(t.machine, t.clauses, local));
  for (u32 first = 0; first < t.machine.features; first += 64) {
    for (u32 k = 0; k < 4; ++k) {
      if (!(fresh[first / 16 + k] >> lane_index() & 1)) continue;
      const u32 feature = first + 2 * lane_index() + k / 2;
      visit(row[2 * feature + k % 2], hash32(key, feature + (k % 2 ? t.machine.features : 0)));
    }
  }
}

// Of the literals a full clause would newly include, those with the largest hashes stay out.
__device__ __forceinline__ void limit_literals(const Trainer& t, u32 local, u32* fresh) {
  const u32* row = row_of(t.machine, t.clauses, local);
  u32 included = 0;
  for (u32 k = lane_index(); 4 * k < t.machine.row_bytes; k += 32) {
    included += __popc(~row[k] & 0x80808080u);
  }
  included = warp_sum(included);
  if (included <= t.machine.max_literals) return;
  const u32 surplus = included - t.machine.max_literals;
  const Key key = make_key(t.step_key(), kLimit, 0, t.clauses.first + local);
  __syncwarp();
  // The largest bound with at least `surplus` hashes at or above it; hashes differ.
  u32 bound = 0;
  for (u32 bit = 1u << 31; bit; bit /= 2) {
    u32 above = 0;
    each_fresh(t, local, key, fresh, [&](i8&, u32 hash) { above += hash >= (bound | bit); });
    if (warp_sum(above) >= surplus) bound |= bit;
  }
  each_fresh(t, local, key, fresh, [&](i8& entry, u32 hash) {
    if (hash >= bound) entry = -1;
  });
  __syncwarp();
}

constexpr u32 kAdded = 1u << 31, kRemoved = 1u << 30;  // how literals of a clause changed

// Moves the entries of a row, and changes the clause's lists with it. Returns how its literals
// changed. A lane moves the entries of two features and their negations, which are four bytes,
// of several pieces of the row at a time.
__device__ __forceinline__ u32 update_row(const Trainer& t, u32 local, const Feedback& feedback,
                                          u32* fresh) {
  const Machine& machine = t.machine;
  u32* row = row_of(machine, t.clauses, local);
  u32 changes = 0, edits = 0;
  bool window_changed = false;
  Head head;
#pragma unroll 1
  for (u32 first = 0; first < machine.features; first += 64 * kPieces) {
    u32 before[kPieces], flips[kPieces];
    i32 delta[kPieces][4];
#pragma unroll
    for (u32 j = 0; j < kPieces; ++j) {
      const u32 feature = first + 64 * j + 2 * lane_index();
      before[j] = feature < machine.features ? row[feature / 2] : kAll;
#pragma unroll
      for (u32 k = 0; k < 4; ++k) delta[j][k] = 0;
    }
    each_key(t, local, feedback, [&](Key key) {
#pragma unroll
      for (u32 j = 0; j < kPieces; ++j) {
#pragma unroll
        for (u32 k = 0; k < 4; k += 2) {
          const u32 word = hash32(key, first + 64 * j + 2 * lane_index() + k / 2);
          delta[j][k] -= (word & 0xFFFF) < machine.q;
          delta[j][k + 1] -= (word >> 16) < machine.q;
        }
      }
    });
    if (feedback.fires) {
      const i32 type1 = static_cast<i32>(feedback.type1), type2 = static_cast<i32>(feedback.type2);
#pragma unroll
      for (u32 j = 0; j < kPieces; ++j) {
#pragma unroll
        for (u32 k = 0; k < 4; k += 2) {
          const bool placed = kSearches && first + 64 * j < machine.positions;
          const bool value =
              feature_value(t, feedback, first + 64 * j + 2 * lane_index() + k / 2, placed);
#pragma unroll
          for (u32 n = 0; n < 2; ++n) {
            i32& moves = delta[j][k + n];
            const bool excluded = before[j] >> (8 * (k + n) + 7) & 1;
            const i32 up = machine.boost ? type1 : type1 + moves;
            const i32 down = excluded ? type2 + moves : moves;
            moves = value != (n != 0) ? up : down;
          }
        }
      }
    }
    u32 added = 0, removed = 0;
#pragma unroll
    for (u32 j = 0; j < kPieces; ++j) {
      const u32 feature = first + 64 * j + 2 * lane_index();
      u32 after = 0;
#pragma unroll
      for (u32 k = 0; k < 4; ++k) {
        const i32 entry = static_cast<i8>(before[j] >> (8 * k));
        const i32 moved = min(max(entry + delta[j][k], -machine.depth), machine.depth - 1);
        after |= (static_cast<u32>(moved) & 0xFF) << (8 * k);
      }
      // The last feature may stand alone; what lies beside it stays excluded.
      if (feature + 1 >= machine.features) after |= 0xFFFF0000u;
      if (feature < machine.features) row[feature / 2] = after;
      flips[j] = feature < machine.features ? (before[j] ^ after) & 0x80808080u : 0;
      added |= flips[j] & before[j];
      removed |= flips[j] & ~before[j];
      if (kLimited) {
#pragma unroll
        for (u32 k = 0; k < 4; ++k) {
          const u32 lanes = __ballot_sync(kAll, (flips[j] & before[j]) >> (8 * k + 7) & 1);
          if (lane_index() == 0 && first + 64 * j < machine.features) {
            fresh[first / 16 + 4 * j + k] = lanes;
          }
        }
      }
    }
    if (!__any_sync(kAll, added | removed)) continue;

    if (!changes) head = t.clauses.heads[local];
    if (__any_sync(kAll, added)) changes |= kAdded;
    if (__any_sync(kAll, removed)) changes |= kRemoved;
#pragma unroll 1
    for (u32 j = 0; j < kPieces; ++j) {
      u32 mine = j == 0 ? flips[0] : j == 1 ? flips[1] : flips[2];
      if (!__any_sync(kAll, mine)) continue;
      const u32 old = j == 0 ? before[0] : j == 1 ? before[1] : before[2];
      const u32 feature = first + 64 * j + 2 * lane_index();
      if (kSearches && first + 64 * j < machine.positions) {
        const u32 of_window = feature + 1 < machine.positions ? kAll
                              : feature < machine.positions   ? 0xFFFFu
                                                              : 0u;
        window_changed |= __any_sync(kAll, mine & of_window) != 0;
        mine &= ~of_window;
      }
#pragma unroll 1
      for (u32 lanes = __ballot_sync(kAll, mine); lanes && edits <= kEdits; lanes &= lanes - 1) {
        const i32 lane = __ffs(lanes) - 1;
        const u32 adds = __shfl_sync(kAll, old, lane);
#pragma unroll 1
        for (u32 bits = __shfl_sync(kAll, mine, lane); bits && edits <= kEdits; bits &= bits - 1) {
          const u32 bit = bits & -bits, k = (__ffs(bit) - 1) / 8;
          if (++edits <= kEdits) {
            edit(machine, t.clauses, local, head, first + 64 * j + 2 * lane + k / 2, k % 2,
                 adds & bit);
          }
        }
      }
    }
  }
  if (!changes) return 0;
  if (kLimited) limit_literals(t, local, fresh);
  if (kLimited || edits > kEdits) {
    __syncwarp();
    rebuild(machine, t.clauses, local);
  } else {
    finish_lists(machine, t.clauses, local, head, window_changed);
  }
  return changes;
}

__device__ __forceinline__ Patch draw_patch(const Trainer& t, u32 local) {
  const u32 draw = hash32(t.shared->patch[t.turn % 2], t.clauses.first + local);
  return choose_patch(t.machine, t.clauses, local, t.image_of(t.turn), draw);
}

// Adds a clause's votes, or takes them away.
__device__ __forceinline__ void add_weights(const Trainer& t, u32 local, u32 turn, Sum sign) {
  const u32 m = t.machine.m;
  const i32* weights = t.clauses.weights + static_cast<u64>(local) * m;
#pragma unroll 1
  for (u32 i = lane_index(); i < m; i += 32)
    add(t.outputs.partial + turn % 2 * m + i, sign * weights[i]);
}

// Learning of one clause from the current example, by one warp. Returns how its literals changed;
// it is still to be matched with the examples after the next.
__device__ __forceinline__ u32 give_feedback(const Trainer& t, u32 local) {
  const Machine& machine = t.machine;
  const u32 turn = t.turn, next = turn + 1;
  Feedback feedback = {t.fires(local, turn), 0, 0, t.words_of(turn), 1u << turn % kBatch, 0, 0};
  u32 type = 0;  // of the last 32 outputs
  __syncwarp();  // the keys of the clause before were read
  const u32 chunks = kMany ? (machine.m + 31) / 32 : 1;
#pragma unroll 1
  for (u32 chunk = 0; chunk < chunks; ++chunk) {
    const u32 i = 32 * chunk + lane_index();
    type = i < machine.m ? feedback_type(t, local, i, feedback.fires) : 0;
    const u32 lanes = __ballot_sync(kAll, type == 1);
    const u32 slot = feedback.type1 + __popc(lanes & lanes_below());
    feedback.type1 += __popc(lanes);
    feedback.type2 += __popc(__ballot_sync(kAll, type == 2));
    if (type == 1 && slot < kKeys) {
      t.keys[slot] = make_key(t.step_key(), kDraw, i, t.clauses.first + local);
    }
  }
  if (feedback.type1 + feedback.type2 == 0) return 0;
  __syncwarp();

  u32* fresh = nullptr;
  if (kLimited) {
    fresh = machine.fresh + static_cast<u64>(blockIdx.x * warp_count() + warp_index()) *
                                ((machine.features + 63) / 64 * 4);
  }
  if (kSearches && feedback.fires) {
    const Patch patch = kListed ? draw_patch(t, local) : t.slots[local];
    feedback.row = patch.row;
    feedback.column = patch.column;
    feedback.base += patch_offset(machine, patch.row, patch.column);
  }
  const u32 changes = update_row(t, local, feedback, fresh);

  const bool has_next = next < t.task.count;
  const bool fired_next = has_next && t.fires(local, next);
  if (feedback.fires && machine.learn_weights) {
    i32* weights = t.clauses.weights + static_cast<u64>(local) * machine.m;
    Sum* votes = t.outputs.partial + next % 2 * machine.m;
#pragma unroll 1
    for (u32 i = lane_index(); i < machine.m; i += 32) {
      if (kMany) type = feedback_type(t, local, i, true);
      if (!type) continue;
      const i32 weight = weights[i];
      i64 moved = static_cast<i64>(weight) + (t.outputs.target[i] ? 1 : -1);
      if (!machine.sharing) {  // a clause keeps its side
        moved = weight > 0 ? max(moved, i64{1}) : weight < 0 ? min(moved, i64{-1}) : moved;
      }
      const i64 limit = machine.max_weight;
      moved = min(max(moved, -limit), limit);
      weights[i] = static_cast<i32>(moved);
      if (fired_next) add(votes + i, static_cast<Sum>(moved - weight));
    }
    __syncwarp();
  }
  if (!changes || !has_next) return 0;

  // Only the next example's votes wait for this; the others are matched while votes travel. With
  // more literals a clause can only stop to fire, with fewer only begin.
  if (!(changes & (fired_next ? kAdded : kRemoved))) return changes;
  const u32 bit = 1u << next % kBatch;
  const bool fires_next = kSearches ? fires_on(machine, t.clauses, local, t.image_of(next))
                                    : match(machine, t.clauses, local, t.words_of(next), bit) != 0;
  if (fires_next == fired_next) return changes;
  __syncwarp();
  if (lane_index() == 0) t.ahead_of(next)[local] ^= bit;
  add_weights(t, local, next, fires_next ? 1 : -1);
  return changes;
}

// Adds the votes of clauses that fire on an example, by one of several workers.
__device__ __forceinline__ void add_votes(const Trainer& t, u32 turn, u32 worker, u32 workers) {
  const u32 m = t.machine.m;
  const u32* ahead = t.ahead_of(turn);
  Sum* votes = t.outputs.partial + turn % 2 * m;
#pragma unroll 1
  for (u32 chunk = worker; 32 * chunk < t.clauses.count; chunk += workers) {
    const u32 local = 32 * chunk + lane_index();
    const bool fires = local < t.clauses.count && (ahead[local] >> turn % kBatch & 1);
    const u32 firing = __ballot_sync(kAll, fires);
    if (!firing) continue;
    for (u32 i = lane_index(); i < m; i += 32) {
      Sum sum = 0;
#pragma unroll 1
      for (u32 lanes = firing; lanes; lanes &= lanes - 1) {
        sum += t.clauses.weights[static_cast<u64>(32 * chunk + __ffs(lanes) - 1) * m + i];
      }
      add(votes + i, sum);
    }
  }
}

// Copies words, by some of the block's threads.
__device__ __forceinline__ void copy_words(void* to, const void* from, u64 bytes, u32 thread,
                                           u32 threads) {
#pragma unroll 1
  for (u64 k = thread; 4 * k < bytes; k += threads) {
    static_cast<u32*>(to)[k] = static_cast<const u32*>(from)[k];
  }
}

// Puts clauses that get feedback on the list. A warp looks at 32 clauses for one output.
__device__ __forceinline__ void select(const Trainer& t) {
  const u32 chunks = (t.clauses.count + 31) / 32;
  u32 chunk = 0, i = warp_index();
#pragma unroll 1
  for (;; i += warp_count()) {
    for (; i >= t.machine.m; i -= t.machine.m) ++chunk;
    if (chunk >= chunks) return;
    const u32 local = 32 * chunk + lane_index();
    const bool takes =
        local < t.clauses.count && feedback_type(t, local, i, t.fires(local, t.turn));
    const u32 lanes = __ballot_sync(kAll, takes);
    if (!lanes) continue;
    u32 fresh = 0, place = 0;
    if (lane_index() == 0) {
      fresh = lanes & ~atomicOr(t.is_chosen + chunk, lanes);
      if (fresh) place = atomicAdd(&t.shared->chosen, __popc(fresh));
    }
    fresh = __shfl_sync(kAll, fresh, 0);
    place = __shfl_sync(kAll, place, 0);
    if (fresh >> lane_index() & 1) t.chosen()[place + __popc(fresh & lanes_below())] = local;
  }
}

// A meeting of all warps but those that poll. NVIDIA's racecheck does not understand it: where
// COTM_RACECHECK is defined, all warps meet.
__device__ __forceinline__ void workers_meet(u32 workers) {
#ifdef COTM_RACECHECK
  __syncthreads();
#else
  asm volatile("bar.sync 1, %0;" ::"r"(32 * workers) : "memory");
#endif
}

// How well the votes met the targets of an earlier turn; lanes of one warp.
__device__ __forceinline__ void count(const Trainer& t, u32 turn, u64& hits, u64& correct) {
  const u32 m = t.machine.m;
  const i64* total = t.outputs.total + turn % 2 * m;
  const u8* target = t.task.targets + static_cast<u64>(turn) * m;
  i64 best = 0;
  u32 winner = m, met = 0;
  for (u32 i = lane_index(); i < m; i += 32) {
    if (winner == m || total[i] > best) best = total[i], winner = i;
    met += (total[i] >= 0) == (target[i] == 1);
  }
  for (u32 s = 16; s; s /= 2) {
    const i64 other = __shfl_xor_sync(kAll, best, s);
    const u32 rival = __shfl_xor_sync(kAll, winner, s);
    if (rival < m && (winner == m || other > best || (other == best && rival < winner))) {
      best = other, winner = rival;
    }
  }
  hits += target[winner];
  correct += warp_sum(met);
}

extern "C" __global__ void __launch_bounds__(COTM_THREADS, 1)
    train(const __grid_constant__ Machine machine, const __grid_constant__ Task task) {
  extern __shared__ uint4 memory[];
  u8* next_shared = reinterpret_cast<u8*>(memory);
  const auto take = [&](u64 bytes) {
    u8* taken = next_shared;
    next_shared += (bytes + 15) / 16 * 16;
    return taken;
  };
  const auto place = [&](Part part, u64 bytes, void* elsewhere) {
    return shares(part) ? static_cast<void*>(take(bytes)) : elsewhere;
  };

  const u32 m = machine.m;
  const u64 first = static_cast<u64>(machine.n) * blockIdx.x / gridDim.x;
  const u64 own = static_cast<u64>(machine.n) * (blockIdx.x + 1) / gridDim.x - first;

  Trainer t = {machine, task};
  Clauses& clauses = t.clauses;
  clauses.first = static_cast<u32>(first);
  clauses.count = static_cast<u32>(own);
  t.shared = reinterpret_cast<Shared*>(take(sizeof(Shared)));
  const u32 warp_keys = min(m, kKeys);
  t.keys = reinterpret_cast<Key*>(take(warp_count() * warp_keys * sizeof(Key))) +
           warp_index() * warp_keys;
  u8* scratch = static_cast<u8*>(
      place(kOutputs, output_bytes(m), machine.outputs + blockIdx.x * u64{output_bytes(m)}));
  const auto per_output = [&](u64 bytes) {
    u8* taken = scratch;
    scratch += m * bytes;
    return taken;
  };
  t.outputs.total = reinterpret_cast<i64*>(per_output(2 * sizeof(i64)));
  t.outputs.before = reinterpret_cast<u64*>(per_output(2 * sizeof(u64)));
  t.outputs.threshold = reinterpret_cast<u64*>(per_output(2 * sizeof(u64)));
  t.outputs.select = reinterpret_cast<Key*>(per_output(2 * sizeof(Key)));
  t.outputs.partial = reinterpret_cast<Sum*>(per_output(2 * sizeof(Sum)));
  t.outputs.target = per_output(1);
  t.own_words = static_cast<u32*>(place(kWords, 8 * u64{machine.words}, nullptr));
  t.own_images = static_cast<u32*>(place(kImages, 8 * kBatch * u64{machine.image_words}, nullptr));
  const u64 offset_bytes = 4 * u64{machine.features - machine.positions};
  u32* offsets = static_cast<u32*>(place(kOffsets, offset_bytes, nullptr));
  clauses.offsets = shares(kOffsets) ? offsets : machine.offsets;
  clauses.heads = static_cast<Head*>(place(kHeads, sizeof(Head) * own, machine.heads + first));
  t.ahead = static_cast<u32*>(place(kHeads, 8 * own, machine.ahead + 2 * first));
  t.slots = static_cast<Patch*>(
      place(kHeads, (kListed ? sizeof(u32) : sizeof(Patch)) * own, machine.slots + first));
  t.is_chosen = static_cast<u32*>(
      place(kHeads, (own + 31) / 32 * 4, machine.is_chosen + first / 32 + blockIdx.x));
  const u64 row_bytes = own * machine.row_bytes, weight_bytes = own * m * 4;
  const u64 list_bytes = 2 * own * machine.capacity * sizeof(Entry);
  i8* rows = machine.rows + first * machine.row_bytes;
  i32* weights = machine.weights + first * m;
  Entry* lists = machine.lists + 2 * first * machine.capacity;
  clauses.weights = static_cast<i32*>(place(kWeights, weight_bytes, weights));
  clauses.rows = static_cast<i8*>(place(kRows, row_bytes, rows));
  clauses.lists = static_cast<Entry*>(place(kLists, list_bytes, lists));

  const u32 thread = threadIdx.x, threads = blockDim.x;
  if (shares(kHeads)) {
    copy_words(clauses.heads, machine.heads + first, sizeof(Head) * own, thread, threads);
  }
  if (shares(kWeights)) copy_words(clauses.weights, weights, weight_bytes, thread, threads);
  if (shares(kRows)) copy_words(clauses.rows, rows, row_bytes, thread, threads);
  if (shares(kLists)) copy_words(clauses.lists, lists, list_bytes, thread, threads);
  if (shares(kOffsets)) copy_words(offsets, machine.offsets, offset_bytes, thread, threads);
  for (u32 k = thread; k < 2 * m; k += threads) {
    t.outputs.partial[k] = 0, t.outputs.before[k] = 0;
  }
  __syncthreads();

  // The first warps wait for the votes of other blocks, the rest work in the meantime.
  const u32 warps = warp_count(), warp = warp_index();
  const u32 pollers = kMany ? min(warps - 1, (m + 31) / 32) : 1, workers = warps - pollers;
  const u32 worker = warp - pollers;
  u64 hits = 0, correct = 0;
  u32 chosen = 0;              // clauses on the list
  u32 added = 0, removed = 0;  // without a list: a bit for each of a worker's clauses
  // Turn `next` - 1 is at hand, and `next` is prepared; the first time round there is no turn.
#pragma unroll 1
  for (u32 next = 0; next <= task.count; ++next) {
    const u32 turn = t.turn = next - 1;
    if (warp < pollers) {
#ifdef COTM_RACECHECK
      const bool copied = shares(kWords) || shares(kImages);
      if (copied && next < task.count && next % kBatch == 0) workers_meet(0);
      if (kListed) workers_meet(0);
#endif
      // Votes leave, and those of all blocks come back as thresholds. The next step's keys are
      // made in between: those of the outputs, and one for the choice of patches.
      if (next > 0) {
#pragma unroll 1
        for (u32 i = thread; i < m; i += 32 * pollers) {
          const u32 slot = turn % 2 * m + i;
          cast(task.ballot + slot, t.outputs.partial[slot]);
          t.outputs.partial[slot] = 0;
        }
      }
      const u64 step_key = mix64(machine.seed + mix64(task.step + next));
#pragma unroll 1
      for (u32 i = thread; i <= m; i += 32 * pollers) {
        const Key key = make_key(step_key, i < m ? kSelect : kPatch, i < m ? i : 0, 0);
        *(i < m ? t.outputs.select + next % 2 * m + i : t.shared->patch + next % 2) = key;
      }
      if (thread == 0) t.shared->step_key[next % 2] = step_key;
      if (next > 0) {
        const u64* scale = task.scales + (task.one_scale ? 0 : 2 * u64{turn});
#pragma unroll 1
        for (u32 i = thread; i < m; i += 32 * pollers) {
          const u32 slot = turn % 2 * m + i;
          const u8 target = task.targets[u64{turn} * m + i];
          const u64 factors[2] = {scale[0], scale[1]};
          const i64 votes = collect(task.ballot + slot, t.outputs.before[slot]);
          t.outputs.total[slot] = votes;
          set_thresholds(t, i, votes, target, factors);
        }
      }
    } else {
      const bool has_next = next < task.count, opens = has_next && next % kBatch == 0;
      if (opens && (shares(kWords) || shares(kImages))) {
        const u32 helper = thread - 32 * pollers, helpers = 32 * workers;
        const u64 batch = next / kBatch, images = kBatch * u64{machine.image_words};
        if (shares(kWords)) {
          copy_words(t.own_words + batch % 2 * machine.words, task.batches + batch * machine.words,
                     4 * u64{machine.words}, helper, helpers);
        }
        if (shares(kImages)) {
          copy_words(t.own_images + batch % 2 * images, task.images + batch * images, 4 * images,
                     helper, helpers);
        }
        workers_meet(workers);
      }
      // Clauses are matched with a batch that opens, and again if their literals have changed:
      // with the next example only, where that is fast and few clauses are concerned, or with
      // the rest of the batch. With more literals a clause can only fire on examples it fired
      // on, with fewer only on more.
      constexpr bool one_by_one = kSearches && !kListed;
      const u32 coming = opens ? kAll : kAll << turn % kBatch << 1;
      const u32 jobs = opens || !kListed ? clauses.count : chosen;
      u32 bit = 1;
#pragma unroll 1
      for (u32 k = worker; k < jobs; k += workers, bit <<= 1) {
        u32 local = k, changes = kAdded | kRemoved;
        if (!opens && kListed) {
          local = t.chosen()[k] & ~(kAdded | kRemoved);
          changes = t.chosen()[k] & (kAdded | kRemoved);
        } else if (!opens) {
          changes = (added & bit ? kAdded : 0) | (removed & bit ? kRemoved : 0);
        }
        u32* place = t.ahead_of(opens ? next : turn) + local;
        if (changes && has_next) {
          const u32 ahead = opens ? 0 : *place;
          const u32 sure = changes & kAdded ? 0 : ahead & coming;
          const u32 unsure = coming & ~sure & (changes & kRemoved ? kAll : ahead);
          u32 now = sure | (ahead & ~coming);
          if (one_by_one && !opens) {
            const u32 of_next = 1u << next % kBatch;
            now = ahead;
            if (unsure & of_next) {
              now &= ~of_next;
              if (fires_on(machine, clauses, local, t.image_of(next))) now |= of_next;
            }
          } else if (unsure) {
            now |= match(machine, clauses, local, t.words_of(opens ? next : turn), unsure);
          }
          __syncwarp();
          if (lane_index() == 0) *place = now;
          __syncwarp();
        }
        if (!kListed) {
          // The next example's votes, as they would be without this turn's feedback.
          if (has_next && t.fires(local, next)) add_weights(t, local, next, 1);
          if (kSearches && next > 0 && t.fires(local, turn)) {
            const Patch patch = draw_patch(t, local);
            if (lane_index() == 0) t.slots[local] = patch;
          }
        }
      }
      if (opens || !one_by_one) added = removed = 0;
      if (kListed) {
        for (u32 k = thread - 32 * pollers; 32 * k < clauses.count; k += 32 * workers) {
          t.is_chosen[k] = 0;
        }
        workers_meet(workers);
        if (has_next) add_votes(t, next, worker, workers);
        if (thread == 32 * pollers) t.shared->chosen = 0;
      }
      if (blockIdx.x == 0 && worker == workers - 1 && next > 1) count(t, turn - 1, hits, correct);
    }
    __syncthreads();
    if (next == 0) continue;

    if (kListed) {
      select(t);
      __syncthreads();
      chosen = t.shared->chosen;
    }
    u32 bit = 1;
    if (kListed || warp >= pollers) {
#pragma unroll 1
      for (u32 k = kListed ? warp : worker; k < (kListed ? chosen : clauses.count);
           k += kListed ? warps : workers, bit <<= 1) {
        const u32 local = kListed ? t.chosen()[k] : k;
        const u32 changes = give_feedback(t, local);
        if (kListed) {
          __syncwarp();
          if (changes && lane_index() == 0) t.chosen()[k] = local | changes;
        } else {
          added |= changes & kAdded ? bit : 0;
          removed |= changes & kRemoved ? bit : 0;
        }
      }
    }
    __syncthreads();
  }
  if (blockIdx.x == 0 && warp == warps - 1) {
    count(t, task.count - 1, hits, correct);
    if (lane_index() == 0) task.counts[0] += hits, task.counts[1] += correct;
  }
  if (shares(kHeads)) {
    copy_words(machine.heads + first, clauses.heads, sizeof(Head) * own, thread, threads);
  }
  if (shares(kWeights)) copy_words(weights, clauses.weights, weight_bytes, thread, threads);
  if (shares(kRows)) copy_words(rows, clauses.rows, row_bytes, thread, threads);
  if (shares(kLists)) copy_words(lists, clauses.lists, list_bytes, thread, threads);
}

// ---- Prediction ---------------------------------------------------------------------------

__device__ __forceinline__ Clauses all_clauses(const Machine& machine) {
  return {
      0, machine.n, machine.rows, machine.weights, machine.lists, machine.heads, machine.offsets};
}

// Writes down the literals of every clause, a warp for each.
extern "C" __global__ void list_literals(const __grid_constant__ Machine machine) {
  const u32 clause = blockIdx.x * warp_count() + warp_index();
  if (clause < machine.n) rebuild(machine, all_clauses(machine), clause);
}

// A clause without literals is silent in prediction. Any position literal narrows the window.
__device__ __forceinline__ bool is_empty(const Machine& machine, const Head& head) {
  return head.set + head.negated == 0 && head.rows == machine.grid_rows &&
         head.columns == machine.grid_columns;
}

// Lists the clauses that can fire and are heard: not those that ask for the impossible, or whose
// weights are all 0. A thread for each.
extern "C" __global__ void list_clauses(const __grid_constant__ Machine machine, u32* list,
                                        u32* length) {
  const u32 clause = blockIdx.x * blockDim.x + threadIdx.x;
  if (clause >= machine.n) return;
  const Head head = machine.heads[clause];
  if (is_empty(machine, head) || head.rows == 0 || head.columns == 0) return;
  for (u32 i = 0; i < machine.m; ++i) {
    if (machine.weights[static_cast<u64>(clause) * machine.m + i] == 0) continue;
    list[atomicAdd(length, 1)] = clause;
    return;
  }
}

__device__ __forceinline__ u32 valid_examples(u32 batch, u32 examples) {
  const u32 here = min(kBatch, examples - batch * kBatch);
  return here == 32 ? kAll : (1u << here) - 1;
}

// The words of a batch, in shared memory where `copy`.
__device__ const u32* batch_words(const Machine& machine, const u32* batches, u32 batch, u32* to,
                                  u32 copy) {
  const u32* words = batches + static_cast<u64>(batch) * machine.words;
  if (!copy) return words;
  copy_words(to, words, 4 * static_cast<u64>(machine.words), threadIdx.x, blockDim.x);
  __syncthreads();
  return to;
}

constexpr u32 kSlice = 4096;   // clauses that a block matches with one batch
constexpr u32 kVoteChunk = 8;  // outputs whose votes a lane sums at a time

// votes[example][output]: a block takes one batch and a slice of the clauses. A lane sums the
// votes for one example.
extern "C" __global__ void __launch_bounds__(512, 2)
    vote(const __grid_constant__ Machine machine, const u32* live_list, const u32* live_count,
         const u32* batches, const u32 examples, const u32 copy, i64* votes) {
  extern __shared__ u32 batch_memory[];
  __shared__ u32 fires[kSlice];
  const u32 live = *live_count, first = blockIdx.y * kSlice;
  if (first >= live) return;
  const u32 here = min(kSlice, live - first);
  const u32* words = batch_words(machine, batches, blockIdx.x, batch_memory, copy);
  const Clauses clauses = all_clauses(machine);
  const u32* list = live_list + first;
  const u32 valid = valid_examples(blockIdx.x, examples);
  for (u32 k = warp_index(); k < here; k += warp_count()) {
    const u32 found = match(machine, clauses, list[k], words, valid);
    if (lane_index() == 0) fires[k] = found;
  }
  __syncthreads();
  const u32 example = blockIdx.x * kBatch + lane_index();
  for (u32 chunk = 0; chunk < machine.m; chunk += kVoteChunk) {
    Sum sums[kVoteChunk] = {};
    for (u32 k = warp_index(); k < here; k += warp_count()) {
      const u32 found = fires[k];
      if (!found) continue;
      const bool mine = found >> lane_index() & 1;
      const i32* weights = machine.weights + static_cast<u64>(list[k]) * machine.m + chunk;
#pragma unroll
      for (u32 i = 0; i < kVoteChunk; ++i) {
        if (chunk + i < machine.m) {
          const Sum weight = weights[i];
          sums[i] += mine ? weight : 0;
        }
      }
    }
#pragma unroll
    for (u32 i = 0; i < kVoteChunk; ++i) {
      if (example < examples && chunk + i < machine.m && sums[i]) {
        add(votes + static_cast<u64>(example) * machine.m + chunk + i, static_cast<i64>(sums[i]));
      }
    }
  }
}

// fires[example][clause]; a warp takes 32 clauses.
extern "C" __global__ void __launch_bounds__(512, 2)
    fire(const __grid_constant__ Machine machine, const u32* batches, const u32 examples,
         const u32 copy, u8* fires) {
  extern __shared__ u32 batch_memory[];
  const u32* words = batch_words(machine, batches, blockIdx.x, batch_memory, copy);
  const Clauses clauses = all_clauses(machine);
  const u32 valid = valid_examples(blockIdx.x, examples);
  const u32 first = 32 * (blockIdx.y * warp_count() + warp_index());
  u32 mine = 0;
  for (u32 k = 0; k < 32 && first + k < machine.n; ++k) {
    if (is_empty(machine, machine.heads[first + k])) continue;
    const u32 found = match(machine, clauses, first + k, words, valid);
    if (k == lane_index()) mine = found;
  }
  if (first + lane_index() >= machine.n) return;
  for (u32 k = 0; k < kBatch && blockIdx.x * kBatch + k < examples; ++k) {
    fires[static_cast<u64>(blockIdx.x * kBatch + k) * machine.n + first + lane_index()] =
        mine >> k & 1;
  }
}

// ---- Data ---------------------------------------------------------------------------------

__device__ __forceinline__ u64 global_warp() {
  return (static_cast<u64>(blockIdx.x) * blockDim.x + threadIdx.x) / 32;
}

// Bytes of 0 and 1 into words of bits, a warp per word.
extern "C" __global__ void pack(const u8* bits, const u64 examples, const u32 width, u32* packed) {
  const u32 row_words = (width + 31) / 32;
  const u64 word = global_warp();
  if (word >= examples * row_words) return;
  const u64 example = word / row_words;
  const u32 column = static_cast<u32>(word % row_words) * 32 + lane_index();
  const bool bit = column < width && bits[example * width + column];
  const u32 all = __ballot_sync(kAll, bit);
  if (lane_index() == 0) packed[word] = all;
}

// Batches of packed examples, turned inside out channel by channel, rows of pixels apart by the
// pitch. A warp turns 32 bits of 32 examples.
extern "C" __global__ void batch_dense(const u32* packed, const i64* order, const u32 count,
                                       const u32 width, const u32 height, const u32 channels,
                                       const u32 pitch_bits, u32* batches) {
  const u32 bits = height * width * channels, packed_words = (bits + 31) / 32;
  const u64 job = global_warp();
  const u64 batch = job / packed_words;
  if (batch * kBatch >= count) return;
  const u32 word = static_cast<u32>(job % packed_words);
  const u64 turn = batch * kBatch + lane_index();
  const u32 mine = turn < count ? packed[static_cast<u64>(order[turn]) * packed_words + word] : 0;
  u32 turned = 0;
  for (u32 k = 0; k < 32; ++k) {
    const u32 examples = __ballot_sync(kAll, mine >> k & 1);
    if (k == lane_index()) turned = examples;
  }
  const u32 bit = 32 * word + lane_index();
  if (bit >= bits) return;
  const u32 pixel = bit / channels, channel = bit - pixel * channels;
  const u32 y = pixel / width, x = pixel - y * width;
  batches[(batch * height * channels << pitch_bits) + ((channel * height + y) << pitch_bits) + x] =
      turned;
}

// Images of a batch as rows of bits, from the batch: a warp takes 32 pixels of a row.
extern "C" __global__ void batch_images(const u32* batches, const u64 count, const u32 rows,
                                        const u32 width, const u32 row_words, const u32 pitch_bits,
                                        u32* images) {
  const u64 job = global_warp();
  const u64 batch = job / (rows * row_words);
  if (batch >= count) return;
  const u32 place = static_cast<u32>(job % (rows * row_words));
  const u32 row = place / row_words, x = (place - row * row_words) * 32 + lane_index();
  const u32 mine = x < width ? batches[((batch * rows + row) << pitch_bits) + x] : 0;
  for (u32 k = 0; k < kBatch; ++k) {
    const u32 bits = __ballot_sync(kAll, mine >> k & 1);
    if (lane_index() == k) images[(batch * kBatch + k) * rows * row_words + place] = bits;
  }
}

// The same from rows of column numbers; the batches are zero before. A warp per example.
extern "C" __global__ void batch_sparse(const i64* starts, const i32* columns, const i64* order,
                                        const u32 count, const u32 width, u32* batches) {
  const u64 turn = global_warp();
  if (turn >= count) return;
  const i64 example = order[turn];
  for (i64 k = starts[example] + lane_index(); k < starts[example + 1]; k += 32) {
    atomicOr(batches + turn / kBatch * width + columns[k], 1u << turn % kBatch);
  }
}

// Rows between the public layout, features then negations, and the one of this file.
extern "C" __global__ void load_rows(const i8* memory, const u64 clauses, const u32 features,
                                     const u32 row_bytes, i8* rows) {
  const u64 k = static_cast<u64>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (k >= clauses * row_bytes) return;
  const u64 clause = k / row_bytes;
  const u32 place = static_cast<u32>(k % row_bytes), feature = place / 2;
  rows[k] = feature < features ? memory[clause * 2 * features + place % 2 * features + feature]
                               : static_cast<i8>(-1);
}

extern "C" __global__ void store_rows(const i8* rows, const u64 clauses, const u32 features,
                                      const u32 row_bytes, i8* memory) {
  const u64 k = static_cast<u64>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (k >= clauses * 2 * features) return;
  const u64 clause = k / (2 * features);
  const u32 literal = static_cast<u32>(k % (2 * features));
  const bool negated = literal >= features;
  memory[k] = rows[clause * row_bytes + 2 * (negated ? literal - features : literal) + negated];
}
