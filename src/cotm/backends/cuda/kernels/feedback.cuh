// Feedback: how a selected clause learns from an example. One warp teaches one clause.

#pragma once

#include "sampled.cuh"

constexpr u32 kPieces = 3;  // of 64 features, updated at a time: as many as registers allow
constexpr u32 kEdits = 6;   // more changes to a clause's lists, and they are made anew

// ---- Memory -------------------------------------------------------------------------------

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
  included = warp_reduce<kSum>(included);
  if (included <= t.machine.spec.max_literals) return;
  const u32 surplus = included - t.machine.spec.max_literals;
  const Key key = make_key(t.step_key(), kLimit, 0, t.clauses.first + local);
  __syncwarp();
  // The largest bound with at least `surplus` hashes at or above it; hashes differ.
  u32 bound = 0;
  for (u32 bit = 1u << 31; bit; bit /= 2) {
    u32 above = 0;
    each_fresh(t, local, key, fresh, [&](i8&, u32 hash) { above += hash >= (bound | bit); });
    if (warp_reduce<kSum>(above) >= surplus) bound |= bit;
  }
  each_fresh(t, local, key, fresh, [&](i8& entry, u32 hash) {
    if (hash >= bound) entry = -1;
  });
  __syncwarp();
}

// A row is updated some pieces of 64 features at a time, from feature `first` on. A lane has two
// features of piece j with their negations, which are four bytes of the row: as they were
// (`before`), how far they are to move (`delta`), and the sign bits of those that cross between
// included and excluded (`flips`).
using Bytes = u32[kPieces];
using Moves = i32[kPieces][4];

// Type I: each output that gives it makes a literal forget with probability q / 65536.
__device__ __forceinline__ void forget(const Machine& machine, Key key, u32 first, Moves& delta) {
#pragma unroll
  for (u32 j = 0; j < kPieces; ++j) {
#pragma unroll
    for (u32 k = 0; k < 4; k += 2) {
      const u32 word = hash32(key, first + 64 * j + 2 * lane_index() + k / 2);
      delta[j][k] -= (word & 0xFFFF) < machine.spec.q;
      delta[j][k + 1] -= (word >> 16) < machine.spec.q;
    }
  }
}

// Where the clause fires, Type I moves literals that are 1 up, and Type II those that are 0 and
// excluded.
__device__ __forceinline__ void add_feedback(const Trainer& t, const Feedback& feedback, u32 first,
                                             const Bytes& before, Moves& delta) {
  const Machine& machine = t.machine;
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
        i32 up = machine.spec.boost_true_positive ? type1 : type1 + moves;
        if (kBounded && !feedback.grows) up = 0;
        const i32 down = excluded ? type2 + moves : moves;
        moves = value != (n != 0) ? up : down;
      }
    }
  }
}

// Writes down for limit_literals which literals of piece j were added.
__device__ __forceinline__ void note_fresh(const Machine& machine, u32 first, u32 j, u32 added,
                                           u32* fresh) {
#pragma unroll
  for (u32 k = 0; k < 4; ++k) {
    const u32 lanes = __ballot_sync(kAll, added >> (8 * k + 7) & 1);
    if (lane_index() == 0 && first + 64 * j < machine.features) {
      fresh[first / 16 + 4 * j + k] = lanes;
    }
  }
}

// Which of four bytes, those of two features, belong to position literals.
__device__ __forceinline__ u32 window_bytes(const Machine& machine, u32 feature) {
  return feature + 1 < machine.positions ? kAll : feature < machine.positions ? 0xFFFFu : 0u;
}

// Two features with their negations, of which those that sleep stay as they were.
__device__ __forceinline__ u32 without_sleeping(const Machine& machine, u32 feature, u32 before,
                                                u32 after) {
  const u32 awake = feature < machine.features ? machine.awake[feature / 2] : 0;
  return (after & awake) | (before & ~awake);
}

// Moves the entries of a clause's row within the memory's bounds, and edits its lists for the
// literals that come and go. Returns how its literals changed.
__device__ __forceinline__ u32 update_row(const Trainer& t, u32 local, const Feedback& feedback,
                                          u32* fresh) {
  const Machine& machine = t.machine;
  u32* row = row_of(machine, t.clauses, local);
  u32 changes = 0, edits = 0;
  bool window_changed = false;
  Head head;
#pragma unroll 1
  for (u32 first = 0; first < machine.features; first += 64 * kPieces) {
    Bytes before, flips;
    Moves delta = {};
#pragma unroll
    for (u32 j = 0; j < kPieces; ++j) {
      const u32 feature = first + 64 * j + 2 * lane_index();
      before[j] = feature < machine.features ? row[feature / 2] : kAll;
    }
    each_key(t, local, feedback, [&](Key key) { forget(machine, key, first, delta); });
    if (feedback.fires) add_feedback(t, feedback, first, before, delta);
    u32 added = 0, removed = 0;
#pragma unroll
    for (u32 j = 0; j < kPieces; ++j) {
      const u32 feature = first + 64 * j + 2 * lane_index();
      u32 after = 0;
#pragma unroll
      for (u32 k = 0; k < 4; ++k) {
        const i32 entry = static_cast<i8>(before[j] >> (8 * k));
        const i32 moved = min(max(entry + delta[j][k], -machine.spec.N), machine.spec.top());
        after |= (static_cast<u32>(moved) & 0xFF) << (8 * k);
      }
      // The last feature may stand alone; what lies beside it stays excluded.
      if (feature + 1 >= machine.features) after |= 0xFFFF0000u;
      if (kSleeps) after = without_sleeping(machine, feature, before[j], after);
      if (feature < machine.features) row[feature / 2] = after;
      flips[j] = feature < machine.features ? (before[j] ^ after) & 0x80808080u : 0;
      added |= flips[j] & before[j];
      removed |= flips[j] & ~before[j];
      if (kLimited) note_fresh(machine, first, j, flips[j] & before[j], fresh);
    }
    if (!__any_sync(kAll, added | removed)) continue;

    if (!changes) head = t.clauses.heads[local];
    if (__any_sync(kAll, added)) changes |= kAdded;
    if (__any_sync(kAll, removed)) changes |= kRemoved;
#pragma unroll 1
    for (u32 j = 0; j < kPieces; ++j) {
      static_assert(kPieces == 3);  // registers have no index: the loop asks for each
      u32 mine = j == 0 ? flips[0] : j == 1 ? flips[1] : flips[2];
      if (!__any_sync(kAll, mine)) continue;
      const u32 old = j == 0 ? before[0] : j == 1 ? before[1] : before[2];
      if (kSearches && first + 64 * j < machine.positions) {
        const u32 of_window = window_bytes(machine, first + 64 * j + 2 * lane_index());
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

// ---- One clause ---------------------------------------------------------------------------

__device__ __forceinline__ Patch draw_patch(const Trainer& t, u32 local) {
  const u32 draw = hash32(t.shared->patch[t.turn % 2], t.clauses.first + local);
  return choose_patch(t.machine, t.clauses, local, t.image_of(t.turn), t.grade(local, t.turn),
                      draw);
}

// Scratch of limit_literals, one for each warp or for all of a block.
__device__ __forceinline__ u32* fresh_of(const Machine& machine) {
  const u32 warp = blockIdx.x * warp_count() + warp_index() / kTeamWarps * kTeamWarps;
  return machine.fresh + static_cast<u64>(warp) * ((machine.features + 63) / 64 * 4);
}

// Moves the weights of a clause that fires, and corrects the votes for the next example, of which
// it says `says_next`. `type` is that of the lane's output, of the last 32.
__device__ __forceinline__ void move_weights(const Trainer& t, u32 local, u32 type, u32 says_next) {
  const Machine& machine = t.machine;
  i32* weights = t.clauses.weights + static_cast<u64>(local) * machine.spec.m;
  Sum* votes = t.outputs.partial + (t.turn + 1) % 2 * machine.spec.m;
#pragma unroll 1
  for (u32 i = lane_index(); i < machine.spec.m; i += 32) {
    if (kMany) type = feedback_type(t, local, i, true);
    if (!type) continue;
    const i32 weight = weights[i];
    i64 moved = static_cast<i64>(weight) + (t.outputs.target[i] ? 1 : -1);
    if (!machine.spec.sharing) {  // a clause keeps its side
      moved = weight > 0 ? max(moved, i64{1}) : weight < 0 ? min(moved, i64{-1}) : moved;
    }
    moved = machine.spec.clip_weight(moved);
    weights[i] = static_cast<i32>(moved);
    if (says_next) add(votes + i, static_cast<Sum>(moved - weight) * static_cast<Sum>(says_next));
  }
  __syncwarp();
}

// Learning of one clause from the current example. Returns how its literals changed; it is still
// to be matched with the examples after the next, which waits until votes travel. Of a team, the
// first warp does what is not of the memory.
__device__ __forceinline__ u32 give_feedback(const Trainer& t, const Team& team, u32 local) {
  const Machine& machine = t.machine;
  const u32 turn = t.turn, next = turn + 1;
  Feedback feedback = {
      t.fires(local, turn), 0, 0, t.words_of(turn), 1u << turn % kBatch, 0, 0, 0, true, nullptr};
  const u32 type = gather_feedback(t, local, feedback);
  if (feedback.type1 + feedback.type2 == 0) return 0;
  __syncwarp();

  if (kBounded) {
    feedback.grows = included_literals(t.clauses.heads[local]) <= machine.spec.growth_limit;
  }
  if (kSearches && feedback.fires) {
    const Patch patch = kListed ? draw_patch(t, local) : t.slots[local];
    const Line line = line_at(machine, patch.row);
    feedback.depth = line.depth;
    feedback.row = line.row;
    feedback.column = patch.column;
    feedback.base += patch_offset(machine, line, patch.column);
  }
  const bool has_next = next < t.task.count;
  u32 changes, said_next = 0;
  if (kCounted && has_next) said_next = t.grade(local, next);
  if constexpr (kSampled) {
    if (!kSearches) feedback.packed = t.task.packed + u64{turn} * feature_words(machine);
    changes = update_planes(t, team, local, feedback);
    if (team.warp) return changes;
  } else {
    changes = update_row(t, local, feedback, team.fresh);
  }

  if (!kCounted && has_next) said_next = t.grade(local, next);
  if (feedback.fires && machine.spec.learn_weights) move_weights(t, local, type, said_next);
  if constexpr (kCounted) {
    const u32 says = has_next ? t.grade(local, next) : 0;
    if (says != said_next) {
      add_weights(t, local, next, static_cast<Sum>(says) - static_cast<Sum>(said_next));
    }
    return 0;
  }
  if (!changes || !has_next) return 0;

  // Only the next example's votes wait for this; the others are matched while votes travel. With
  // more literals a strict clause can only stop to fire, with fewer only begin.
  if (!kGraded && !(changes & (said_next ? kAdded : kRemoved))) return changes;
  const u32 bit = 1u << next % kBatch;
  const u32 says_next =
      grade_example(machine, t.clauses, local, t.image_of(next), t.words_of(next), bit);
  if (says_next == said_next) return changes;
  __syncwarp();
  if (lane_index() < kPlanes && ((says_next ^ said_next) >> lane_index() & 1)) {
    t.ahead_of(next)[lane_index() * t.clauses.count + local] ^= bit;
  }
  add_weights(t, local, next, static_cast<Sum>(says_next) - static_cast<Sum>(said_next));
  return changes;
}
