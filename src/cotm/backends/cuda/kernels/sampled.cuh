// Feedback to memory rows of bit planes, see planes.cuh: where literals are forgotten by a sample.

#pragma once

#include "counted.cuh"
#include "selection.cuh"

// Of the literals of 32 units, from the first of them on, those that are 1 for the features'
// literals: lane k gets unit first + k. From the packed example, or from a patch of an image.
__device__ __forceinline__ u32 feature_bits(const Trainer& t, const Feedback& feedback, u32 first,
                                            const Unit& unit) {
  const Machine& machine = t.machine;
  if (!kSearches) return unit.feature < machine.features ? feedback.packed[unit.feature / 32] : 0;
  u32 mine = 0;
  const u32 count = min(32u, 2 * feature_words(machine) - first);
#pragma unroll 1
  for (u32 k = 0; k < count; ++k) {
    const u32 f = __shfl_sync(kAll, unit.feature, k) + lane_index();
    const bool value = feature_value(t, feedback, f, f - lane_index() < machine.positions);
    const u32 bits = __ballot_sync(kAll, value);
    if (k == lane_index()) mine = bits;
  }
  return mine;
}

// Feedback to a clause that fires. Which literals are excluded is asked before anything moves.
__device__ __forceinline__ void teach(const Trainer& t, const Team& team, u32 local,
                                      const Feedback& feedback) {
  const Machine& machine = t.machine;
  u32* row = row_of(machine, t.clauses, local);
  const u32 units = 2 * feature_words(machine);
  const i32 up = feedback.grows ? static_cast<i32>(feedback.type1) : 0;
  const i32 open = static_cast<i32>(feedback.type2) - static_cast<i32>(feedback.type1);
  const i32 rounds = max(up, abs(open));
#pragma unroll 1
  for (u32 first = 32 * team.warp; first < units; first += team.threads()) {
    const Unit unit = unit_at(machine, min(first + lane_index(), units - 1));
    const u32 bits = feature_bits(t, feedback, first, unit);
    if (first + lane_index() >= units) continue;
    Sliced entries;
    entries.load(row, units, unit.index);
    const u32 before = entries.signs();
    const u32 is_true = (unit.negated ? ~bits : bits) & unit.awake;
    const u32 is_open = ~is_true & before & unit.awake;
#pragma unroll 1
    for (i32 round = 0; round < rounds; ++round) {
      entries.move(machine.spec, (round < up ? is_true : 0) | (round < open ? is_open : 0),
                   round < -open ? is_open : 0);
    }
    entries.store(row, units, unit.index);
    const u32 flips = before ^ entries.signs();
    if (kLimited) team.fresh[unit.index] = flips & before;
    note(team.notes, unit, flips, before);
  }
}

// Takes 1 from some literals of a unit. What was picked of those that sleep is lost.
__device__ __forceinline__ void forget_literals(const Machine& machine, const Team& team, u32* row,
                                                u32 index, u32 literals) {
  const u32 units = 2 * feature_words(machine);
  Sliced entries;
  entries.load(row, units, index);
  const u32 before = entries.signs();
  entries.move(machine.spec, 0, kSleeps ? literals & machine.awake[index] : literals);
  entries.store(row, units, index);
  note(team.notes, unit_at(machine, index), before ^ entries.signs(), before);
}

// One output's Type I to a clause that does not fire: takes 1 from literals that are picked.
__device__ __forceinline__ void forget_some(const Trainer& t, const Team& team, u32 local,
                                            Key key) {
  const Machine& machine = t.machine;
  u32* row = row_of(machine, t.clauses, local);
  const u32 words = feature_words(machine), picks = static_cast<u32>(machine.spec.picks >> 16);
  const bool one_more = hash32(key, kAll) >> 16 < (machine.spec.picks & 0xFFFF);
  const u32 count = picks + one_more;
#pragma unroll 1
  for (u32 first = 0; first < count; first += team.threads()) {
    const u32 k = first + team.thread();
    const u32 literal = __umulhi(hash32(key, k), 2 * machine.features);
    const bool negated = literal >= machine.features;
    const u32 feature = literal - (negated ? machine.features : 0);
    const u32 unit = feature / 32 + (negated ? words : 0), bit = 1u << feature % 32;
    bool waits = k < count;
    if (kTogether) {
      // What is picked again waits for the next round.
      while (team.meet_any(waits)) {
        if (waits && !(atomicOr(team.picked + unit, bit) & bit)) waits = false;
        team.meet();
#pragma unroll 1
        for (u32 u = team.thread(); u < 2 * words; u += team.threads()) {
          const u32 literals = team.picked[u];
          if (!literals) continue;
          team.picked[u] = 0;
          forget_literals(machine, team, row, u, literals);
        }
      }
    } else {
      // Lanes that picked from the same unit take turns.
      const u32 same = __match_any_sync(kAll, waits ? unit : kAll);
      u32 turn = __popc(same & lanes_below());
#pragma unroll 1
      for (; __any_sync(kAll, waits); --turn) {
        if (waits && turn == 0) {
          forget_literals(machine, team, row, unit, bit);
          waits = false;
        }
        __syncwarp();
      }
    }
  }
}

// Calls visit(unit, literals) with the literals that were added, a lane for each unit.
template <class Visit>
__device__ __forceinline__ void each_fresh_unit(const Machine& machine, const Team& team,
                                                Visit visit) {
  for (u32 u = lane_index(); u < 2 * feature_words(machine); u += 32) {
    if (team.fresh[u]) visit(unit_at(machine, u), team.fresh[u]);
  }
}

// Of the literals a full clause would newly include, those with the largest hashes stay out. By
// one warp.
__device__ __forceinline__ void limit_units(const Trainer& t, const Team& team, u32 local) {
  const Machine& machine = t.machine;
  u32* row = row_of(machine, t.clauses, local);
  const u32 units = 2 * feature_words(machine);
  u32 included = 0;
  for (u32 u = lane_index(); u < units; u += 32) {
    included += __popc(~row[(kBits - 1) * units + u] & unit_at(machine, u).valid);
  }
  included = warp_reduce<kSum>(included);
  if (included <= machine.spec.max_literals) return;
  const u32 surplus = included - machine.spec.max_literals;
  const Key key = make_key(t.step_key(), kLimit, 0, t.clauses.first + local);
  const auto beyond = [&](const Unit& unit, u32 literals, u32 bound) {
    u32 found = 0;
    for (u32 bits = literals; bits; bits &= bits - 1) {
      const u32 literal = unit.feature + __ffs(bits) - 1 + unit.negated * machine.features;
      if (hash32(key, literal) >= bound) found |= bits & -bits;
    }
    return found;
  };
  // The largest bound with at least `surplus` hashes at or above it; hashes differ.
  u32 bound = 0;
  for (u32 bit = 1u << 31; bit; bit /= 2) {
    u32 above = 0;
    each_fresh_unit(machine, team, [&](const Unit& unit, u32 literals) {
      above += __popc(beyond(unit, literals, bound | bit));
    });
    if (warp_reduce<kSum>(above) >= surplus) bound |= bit;
  }
  each_fresh_unit(machine, team, [&](const Unit& unit, u32 literals) {
    const u32 out = beyond(unit, literals, bound);  // an entry of -1 has all bits set
    for (u32 k = 0; k < kBits; ++k) row[k * units + unit.index] |= out;
  });
  __syncwarp();
}

// After the row, where misses are counted: the limit on literals, and what the clause says of the
// coming examples.
__device__ __forceinline__ void settle_counts(const Trainer& t, const Team& team, u32 local) {
  const u32 next = t.turn + 1;
  team.meet();
  const u32 changes = team.notes->changes;
  const bool many = team.notes->count > kNoted, has_next = next < t.task.count;
  if (changes) {
    if (kLimited && (changes & kAdded) && team.warp == 0) limit_units(t, team, local);
    if (!has_next) {
      if (team.thread() == 0) t.clauses.heads[local].row = 1;
    } else if (kLimited || many) {
      if (team.thread() == 0) t.clauses.heads[local].row = 1;
      team.meet();
      count_batch(t, team, local, t.words_of(next));
    } else if (team.warp == 0) {
      count_changes(t, *team.notes, local, t.words_of(next));
    }
    if (has_next && team.warp == 0) say_ahead(t, local, next, kAll << next % kBatch);
  }
  team.meet();
  if (team.thread() == 0) team.notes->count = team.notes->changes = 0;
}

// After the row: the limit on literals, and the lists. Returns how the literals changed.
__device__ __forceinline__ u32 settle(const Trainer& t, const Team& team, u32 local) {
  const Machine& machine = t.machine;
  team.meet();
  const u32 changes = team.notes->changes, count = team.notes->count;
  if (changes && (kLimited || count > kNoted)) {
    if (kLimited && (changes & kAdded) && team.warp == 0) limit_units(t, team, local);
    team.meet();
    rebuild_sliced(machine, t.clauses, local, team);
  } else if (changes && team.warp == 0) {
    Head head = t.clauses.heads[local];
    bool window_changed = false;
#pragma unroll 1
    for (u32 k = 0; k < count; ++k) {
      const u32 literal = team.notes->edits[k] & ~kAdded, feature = literal / 2;
      if (feature < machine.positions)
        window_changed = true;
      else {
        edit(machine, t.clauses, local, head, feature, literal % 2, team.notes->edits[k] & kAdded);
      }
    }
    finish_lists(machine, t.clauses, local, head, window_changed);
  }
  team.meet();
  if (team.thread() == 0) team.notes->count = team.notes->changes = 0;
  return changes;
}

// Gives feedback to the memory of a clause. Returns how its literals changed.
__device__ __forceinline__ u32 update_planes(const Trainer& t, const Team& team, u32 local,
                                             const Feedback& feedback) {
  if (feedback.fires) {
    teach(t, team, local, feedback);
  } else {
    each_key(t, local, feedback, [&](Key key) { forget_some(t, team, local, key); });
  }
  if constexpr (!kCounted) return settle(t, team, local);
  settle_counts(t, team, local);
  return 0;
}
