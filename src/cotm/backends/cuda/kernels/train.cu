// Training: many examples in one launch.
//
// Blocks of threads own clauses, so that only votes cross between blocks: once per example, through
// words that count their own arrivals (see votes.cuh). While votes travel, most warps prepare the
// next example as if this one would change nothing; feedback then corrects what it does change. A
// clause is matched with a whole batch when that begins, and again when its literals change, which
// is seldom.
//
// The arithmetic is that of reference.py, bit for bit.
//
// The words of this code:
//
//   turn, next     the current example and the one after it, counted from the launch's first
//   by turns       two places used alternately, so that one example (or batch) can be prepared
//                  while the other is in use: index turn % 2, for a batch turn / 32 % 2
//   batch          32 examples, bit-sliced; the native backend calls its own 64 or 512 a block,
//                  a word that on a GPU means the threads which share a multiprocessor
//   opens          the next example is the first of its batch
//   own, local     clauses of this block; a clause's number among them
//   ahead          of a clause: a bit for each example of a batch, set if it fires there
//   coming         the bits of `ahead` that are yet to be used
//   sure, unsure   coming examples on which a changed clause is known to fire, or may fire
//   added, removed a clause has included new literals, has dropped some
//   fresh          new: a clause on the list, a literal in a clause
//   head           of a clause: its window, and the lengths of its lists
//   set, negated   literals of a clause that are a bit, and that are its negation
//   partial        votes of own clauses, before they are cast; total: votes of all clauses
//   slots          two words per clause: if kListed they begin with the list of the chosen, else
//                  they hold the patch that each clause will learn from
//   slot           of an output: its place among those that are used by turns
//   chosen         clauses of this block that get feedback, on a list if kListed
//   jobs           clauses a worker may have to look at before the next example
//   pollers        the first warps, which cast votes and wait for those of the other blocks
//   workers        all other warps; helpers: their threads
//   home           where the clauses of a block lie in global memory
//   place          an index or an address; as a verb, to decide where something lies
//   live           in prediction: a clause that can fire and has a weight other than 0
//
// One pass of the loop, for turn = next - 1:
//
//   pollers                                    workers
//   ------------------------------------------ ---------------------------------------------
//   cast_votes: own votes for `turn` leave     if `next` opens a batch: copy it, workers meet
//   make_keys: random keys of `next`           match_ahead: clauses that turn - 1 changed, or all
//   collect_votes: all votes for `turn` come     if a batch opens, with the coming examples
//     back, and set_thresholds of `turn`       votes for `next`, as if `turn` changed nothing
//                                              if not kListed: patches of `turn` are drawn
//                                              one worker: count hits of turn - 1
//   ================================ __syncthreads ================================
//   if kListed: all warps select the clauses that get feedback from `turn`; __syncthreads
//   all warps, or the workers with their own clauses: give_feedback to clauses, and correct the
//   votes for `next` where weights and literals changed
//   ================================ __syncthreads ================================
//
// In the first pass there is no turn yet (turn + 1 == 0), in the last there is no next.

#include "feedback.cuh"

// The warps of a block, by what they do while votes travel.
struct Crew {
  u32 warps, warp;
  u32 pollers, workers;
  u32 worker;  // the number of a warp among the workers
};

__device__ __forceinline__ Crew divide_warps(u32 m) {
  const u32 warps = warp_count(), warp = warp_index();
  const u32 pollers = kMany ? min(warps - 1, (m + 31) / 32) : 1;
  return {warps, warp, pollers, warps - pollers, warp - pollers};
}

// What a warp remembers from turn to turn.
struct Progress {
  u64 hits, correct, missed;  // of the last worker of block 0
  u32 chosen;                 // clauses on the list
  u32 added, removed;         // without a list: a bit for each of a worker's clauses
};

// A meeting of all warps but the pollers. NVIDIA's racecheck does not understand it: where
// COTM_RACECHECK is defined, all warps meet.
__device__ __forceinline__ void workers_meet(u32 workers) {
#ifdef COTM_RACECHECK
  __syncthreads();
#else
  asm volatile("bar.sync 1, %0;" ::"r"(32 * workers) : "memory");
#endif
}

// A meeting of the pollers.
__device__ __forceinline__ void pollers_meet(u32 pollers) {
  asm volatile("bar.sync 15, %0;" ::"r"(32 * pollers) : "memory");
}

// ---- Pollers ------------------------------------------------------------------------------

// The keys of the next step: those of the outputs, and one for the choice of patches.
__device__ __forceinline__ void make_keys(const Trainer& t, const Crew& crew, u32 m) {
  const u32 next = t.turn + 1;
  const u64 key_of_step = step_key(t.machine.spec.seed, t.task.step + next);
#pragma unroll 1
  for (u32 i = threadIdx.x; i <= m; i += 32 * crew.pollers) {
    const Key key = make_key(key_of_step, i < m ? kSelect : kPatch, i < m ? i : 0, 0);
    *(i < m ? t.outputs.select + next % 2 * m + i : t.shared->patch + next % 2) = key;
  }
  if (threadIdx.x == 0) t.shared->step_key[next % 2] = key_of_step;
}

// The votes of own clauses leave for all blocks.
__device__ __forceinline__ void cast_votes(const Trainer& t, const Crew& crew, u32 m) {
#pragma unroll 1
  for (u32 i = threadIdx.x; i < m; i += 32 * crew.pollers) {
    const u32 slot = t.turn % 2 * m + i;
    cast(t.task.ballot + slot, t.outputs.partial[slot]);
    t.outputs.partial[slot] = 0;
  }
}

// The votes of all clauses come back, and become thresholds.
__device__ __forceinline__ void collect_votes(Trainer& t, const Crew& crew, u32 m) {
  const Task& task = t.task;
  const u32 turn = t.turn;
  const u64* scale = task.scales + (task.one_scale ? 0 : 2 * u64{turn});
#pragma unroll 1
  for (u32 i = threadIdx.x; i < m; i += 32 * crew.pollers) {
    const u32 slot = turn % 2 * m + i;
    const Target target = target_of(t, turn, i);
    const u64 factors[2] = {scale[0], scale[1]};
    const i64 votes = collect(task.ballot + slot, t.outputs.before[slot]);
    t.outputs.total[slot] = votes;
    set_thresholds(t, i, votes, target, factors);
  }
}

__device__ __forceinline__ void poll(Trainer& t, const Crew& crew, u32 m) {
  const u32 next = t.turn + 1;
#ifdef COTM_RACECHECK
  const bool copied = shares(kWords) || shares(kImages);
  if (copied && next < t.task.count && next % kBatch == 0) workers_meet(0);
  if (kListed) workers_meet(0);
#endif
  // Keys are made while votes travel.
  if (next > 0) cast_votes(t, crew, m);
  make_keys(t, crew, m);
  if (next > 0) collect_votes(t, crew, m);
  if (kOneNegative && next > 0) {
    pollers_meet(crew.pollers);
    if (crew.warp == 0) keep_one_negative(t);
  }
}

// ---- Workers ------------------------------------------------------------------------------

// Copies the batch that the next example opens to shared memory.
__device__ __forceinline__ void open_batch(const Trainer& t, const Crew& crew) {
  const Machine& machine = t.machine;
  const u32 helper = threadIdx.x - 32 * crew.pollers, helpers = 32 * crew.workers;
  const u64 batch = (t.turn + 1) / kBatch, images = kBatch * u64{machine.image_words};
  if (shares(kWords)) {
    copy_words(t.own_words + batch % 2 * machine.words, t.task.batches + batch * machine.words,
               4 * u64{machine.words}, helper, helpers);
  }
  if (shares(kImages)) {
    copy_words(t.own_images + batch % 2 * images, t.task.images + batch * images, 4 * images,
               helper, helpers);
  }
  workers_meet(crew.workers);
}

// Whether a changed clause is matched again with the next example only, each time, rather than
// once with the rest of the batch: that is faster where there are many patches and few clauses.
constexpr bool kOneByOne = kSearches && !kListed;

__device__ __forceinline__ void grade_ahead(const Trainer& t, u32 local, bool opens) {
  const u32 next = t.turn + 1, of_next = 1u << next % kBatch;
  const u32 coming = opens ? kAll : kOneByOne ? of_next : kAll << t.turn % kBatch << 1;
  u32* place = t.ahead_of(opens ? next : t.turn) + local;
  Grades grades = {};
  if (kOneByOne && !opens) {
    set_all(grades, grade_image(t.machine, t.clauses, local, t.image_of(next)));
  } else if (coming) {
    grades = grade(t.machine, t.clauses, local, t.words_of(opens ? next : t.turn), coming);
  }
  __syncwarp();
#pragma unroll
  for (u32 k = 0; k < kPlanes; ++k) {
    u32& plane = place[k * t.clauses.count];
    const u32 now = opens ? grades.plane[k] : (plane & ~coming) | (grades.plane[k] & coming);
    __syncwarp();
    if (lane_index() == 0) plane = now;
  }
  __syncwarp();
}

// Matches a clause with coming examples: with a batch that opens, or again because its literals
// have changed. With more literals a strict one can only fire on examples it fired on, with fewer
// only on more.
__device__ __forceinline__ void match_ahead(const Trainer& t, const Team& team, u32 local,
                                            u32 changes, bool opens) {
  if (sleeps(t, local)) {
    if (opens && team.thread() < kPlanes) {
      t.ahead_of(t.turn + 1)[team.thread() * t.clauses.count + local] = 0;
    }
    __syncwarp();
    return;
  }
  if constexpr (kCounted) {
    if (opens) count_ahead(t, team, local);
    return;
  }
  if constexpr (kGraded) return grade_ahead(t, local, opens);
  const u32 turn = t.turn, next = turn + 1;
  const u32 coming = opens ? kAll : kAll << turn % kBatch << 1;
  u32* place = t.ahead_of(opens ? next : turn) + local;
  const u32 ahead = opens ? 0 : *place;
  const u32 sure = changes & kAdded ? 0 : ahead & coming;
  const u32 unsure = coming & ~sure & (changes & kRemoved ? kAll : ahead);
  u32 now = sure | (ahead & ~coming);
  if (kOneByOne && !opens) {
    const u32 of_next = 1u << next % kBatch;
    now = ahead;
    if (unsure & of_next) {
      now &= ~of_next;
      if (fires_on(t.machine, t.clauses, local, t.image_of(next))) now |= of_next;
    }
  } else if (unsure) {
    now |= match(t.machine, t.clauses, local, t.words_of(opens ? next : turn), unsure);
  }
  __syncwarp();
  if (lane_index() == 0) *place = now;
  __syncwarp();
}

// All that is done with clauses before the feedback of this turn is known.
__device__ __forceinline__ void work_ahead(const Trainer& t, const Crew& crew, Progress& progress) {
  const Clauses& clauses = t.clauses;
  const u32 turn = t.turn, next = turn + 1;
  const bool has_next = next < t.task.count, opens = has_next && next % kBatch == 0;
  if (opens && (shares(kWords) || shares(kImages))) open_batch(t, crew);
  const u32 jobs = opens || !kListed ? clauses.count : progress.chosen;
  // Of all workers together, or of each by itself.
  const Team team = {kTogether ? crew.worker : 0, kTogether ? crew.workers : 1, 1,
                     kTogether ? t.notes : t.notes + crew.warp};
  u32 bit = 1;
#pragma unroll 1
  for (u32 k = kTogether ? 0 : crew.worker; k < jobs;
       k += kTogether ? 1 : crew.workers, bit <<= 1) {
    u32 local = k, changes = kAdded | kRemoved;
    if (!opens && kListed) {
      local = t.chosen()[k] & ~(kAdded | kRemoved);
      changes = t.chosen()[k] & (kAdded | kRemoved);
    } else if (!opens) {
      changes = (progress.added & bit ? kAdded : 0) | (progress.removed & bit ? kRemoved : 0);
    }
    if (changes && has_next) match_ahead(t, team, local, changes, opens);
    if (!kListed) {
      const u32 says = has_next ? t.grade(local, next) : 0;
      if (says) add_weights(t, local, next, static_cast<Sum>(says));
      if (kSearches && next > 0 && t.fires(local, turn)) {
        const Patch patch = draw_patch(t, local);
        if (lane_index() == 0) t.slots[local] = patch;
      }
    }
  }
  if (opens || !kOneByOne) progress.added = progress.removed = 0;
  if (kListed) {
    const u32 helper = threadIdx.x - 32 * crew.pollers;
    for (u32 k = helper; 32 * k < clauses.count; k += 32 * crew.workers) t.is_chosen[k] = 0;
    workers_meet(crew.workers);
    if (has_next) add_votes(t, next, crew.worker, crew.workers);
    if (helper == 0) t.shared->chosen = 0;
  }
  if (blockIdx.x == 0 && crew.worker == crew.workers - 1 && next > 1) {
    count(t, turn - 1, progress.hits, progress.correct, progress.missed);
  }
}

// ---- All warps ----------------------------------------------------------------------------

__device__ __forceinline__ Team team_of(const Trainer& t, u32 warp) {
  const u32 team = warp / kTeamWarps;
  return {warp % kTeamWarps,
          kTeamWarps,
          2 + team,  // others are for all warps, and for all workers
          t.notes + team,
          t.picked + team * 2 * feature_words(t.machine),
          kLimited ? fresh_of(t.machine) : nullptr};
}

// Gives feedback to the chosen clauses, or to all own ones, and notes which literals changed: on
// the list beside the clause, or in `progress`.
__device__ __forceinline__ void learn(const Trainer& t, const Crew& crew, Progress& progress) {
  if (!kListed && crew.warp < crew.pollers) return;
  const u32 jobs = kListed ? progress.chosen : t.clauses.count;
  const Team team = team_of(t, crew.warp);
  const u32 first = kListed ? crew.warp / kTeamWarps : crew.worker;
  const u32 teams = kListed ? team_count() : crew.workers;
  u32 bit = 1;
#pragma unroll 1
  for (u32 k = first; k < jobs; k += teams, bit <<= 1) {
    const u32 local = kListed ? t.chosen()[k] : k;
    const u32 changes = give_feedback(t, team, local);
    if (kListed) {
      team.meet();
      if (changes && team.thread() == 0) t.chosen()[k] = local | changes;
    } else {
      progress.added |= changes & kAdded ? bit : 0;
      progress.removed |= changes & kRemoved ? bit : 0;
    }
  }
}

extern "C" __global__ void __launch_bounds__(kThreads, kResident)
    train(const __grid_constant__ Machine machine, const __grid_constant__ Task task) {
  extern __shared__ uint4 memory[];
  const u32 m = machine.spec.m;  // read once: reading it in the loop costs registers
  Trainer t = {machine, task};
  const Home home = place_state(t, memory, m);
  load_state(t, home);
  if (kDrops && threadIdx.x == 0) {
    t.shared->sleep = make_key(step_key(machine.spec.seed, task.pass_step), kClauses, 0, 0);
  }
  __syncthreads();

  const Crew crew = divide_warps(m);
  Progress progress = {};
#pragma unroll 1
  for (u32 next = 0; next <= task.count; ++next) {
    t.turn = next - 1;
    if (crew.warp < crew.pollers) {
      poll(t, crew, m);
    } else {
      work_ahead(t, crew, progress);
    }
    __syncthreads();
    if (next == 0) continue;

    if (kListed) {
      select(t);
      __syncthreads();
      progress.chosen = t.shared->chosen;
    }
    learn(t, crew, progress);
    __syncthreads();
  }
  if (blockIdx.x == 0 && crew.warp == crew.warps - 1) {
    count(t, task.count - 1, progress.hits, progress.correct, progress.missed);
    if (lane_index() == 0) {
      task.counts[0] += progress.hits;
      task.counts[1] += progress.correct;
      task.counts[2] += progress.missed;
    }
  }
  store_state(t, home);
}
