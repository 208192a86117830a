// What backend.py chooses for a machine, as options of the compiler. Code that a machine does not
// need is left out, because all that runs for an example should fit the instruction caches.

#pragma once

#include "types.cuh"

using Entry = COTM_ENTRY;    // of an include list: u16 where that holds all offsets, else u32
using Sum = COTM_SUM;        // of one block's votes: i32 where no sum can leave it, else i64
using Output = COTM_OUTPUT;  // of a clause: u8, or i32 for numbers
using Target = COTM_TARGET;  // of an output: u8, 0 or 1, or i32, the votes that are wanted
constexpr bool kSearches = COTM_SEARCHES;          // a patch is a part of an example
constexpr bool kVolumes = COTM_VOLUMES;            // patches lie at several depths
constexpr bool kLongRows = COTM_LONG_ROWS;         // a row of an image takes several words
constexpr bool kMany = COTM_MANY;                  // more outputs than lanes
constexpr bool kLimited = COTM_LIMITED;            // max_literals is set
constexpr bool kHeavy = COTM_HEAVY;                // some example has a weight above 1
constexpr u32 kPlanes = COTM_PLANES;               // bits of what a clause says
constexpr bool kGraded = kPlanes > 1;              // clauses say numbers
constexpr bool kDeep = kVolumes && !kGraded;       // windows begin and end at some depth
constexpr bool kSampled = COTM_SAMPLED;            // literals are forgotten by a sample
constexpr bool kCounted = kSampled && !kSearches;  // see counted.cuh
constexpr bool kOneNegative = COTM_ONE_NEGATIVE;   // see Spec::negatives
constexpr bool kDrops = COTM_DROPS;                // drop_clauses is set
constexpr bool kQuantities = COTM_QUANTITIES;      // targets are quantities, see Spec::regression
constexpr bool kPartly = COTM_PARTLY;              // examples ask some of the outputs
constexpr bool kSleeps = COTM_SLEEPS;              // drop_literals, negations: see Machine::awake
constexpr bool kBounded = COTM_BOUNDED;            // growth_limit is set
constexpr u32 kTeamWarps = COTM_TEAM_WARPS;        // warps that teach a clause together
constexpr bool kTogether = kTeamWarps > 1;
constexpr bool kListed = COTM_LISTED;   // a block lists the clauses that get feedback; else its
                                        // warps look through their own
constexpr u32 kThreads = COTM_THREADS;  // at most, of a block in training
#ifndef COTM_RESIDENT
#define COTM_RESIDENT 1
#endif
constexpr u32 kResident = COTM_RESIDENT;  // blocks of kThreads that registers leave room for

// Whether a part lies in shared memory; the option has a bit for each.
__device__ constexpr bool shares(Part part) { return COTM_SHARED >> part & 1; }
