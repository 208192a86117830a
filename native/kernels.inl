// The kernels, written once over the small types a kernels_*.cpp file defines before it
// includes this one, in a namespace of its own:
//   Patches  one block of 512 patches: load, operator&, without (and not), any, store
//   Mask     one flag per literal of 64: from_bits, all, none, &, without, forget
//   Row      64 memory entries: load, at_floor, apply, store, include_bits
// Nothing from the C++ library is used here: a template instantiated with wide instructions
// could be picked by the linker for everyone.

template <class T>
constexpr bool kIsConst = false;
template <class T>
constexpr bool kIsConst<const T> = true;

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

// Moves four literals that ended a clause towards the front, where they will end it early the
// next time. Without a branch: `ended` is as good as random.
static inline void promote(uint32_t* literals, uint32_t at, bool ended) {
  const uint32_t to = ended ? at / 2 / kChunk * kChunk : at;
  struct Chunk {
    uint32_t literals[kChunk];
  } chunk, other;
  __builtin_memcpy(&chunk, literals + at, sizeof(Chunk));
  __builtin_memcpy(&other, literals + to, sizeof(Chunk));
  __builtin_memcpy(literals + at, &other, sizeof(Chunk));
  __builtin_memcpy(literals + to, &chunk, sizeof(Chunk));
}

template <class List>
static inline Patches take(const List& list, uint32_t at, uint32_t count, const uint64_t* masks,
                           Patches left) {
  for (uint32_t i = at; i < at + count; ++i) {
    left = left & Patches::load(masks + size_t{list.literals[i]} * kBlockWords);
  }
  return left;
}

// Up to 64 clauses over one block of patches; returns a bit per clause that some patch
// satisfies, and those patches in `left`, clause after clause.
//
// Most clauses end within a few literals, but not after the same number, and a branch on that
// is mispredicted more often than not. So all clauses take the first literals untested, those
// that are left take the next, and only the few still left are followed to the end.
template <class List>
static inline uint64_t match64(List* lists, uint32_t count, const uint64_t* masks,
                               const Patches valid, uint64_t* left) {
  uint32_t alive[64], kept = 0;
  for (uint32_t j = 0; j < count; ++j) {
    const Patches found = take(lists[j], 0, kFreeLiterals, masks, valid);
    found.store(left + kept * kBlockWords);
    alive[kept] = j;
    kept += found.any();
  }
  for (uint32_t at = kFreeLiterals; at < kSteppedLiterals; at += kChunk) {
    uint32_t still = 0;
    for (uint32_t k = 0; k < kept; ++k) {
      List& list = lists[alive[k]];
      const Patches found = take(list, at, kChunk, masks, Patches::load(left + k * kBlockWords));
      const bool any = found.any();
      if constexpr (!kIsConst<List>) promote(list.literals, at, !any);
      found.store(left + still * kBlockWords);
      alive[still] = alive[k];
      still += any;
    }
    kept = still;
  }
  uint64_t fires = 0;
  uint32_t still = 0;
  for (uint32_t k = 0; k < kept; ++k) {
    List& list = lists[alive[k]];
    Patches found = Patches::load(left + k * kBlockWords);
    for (uint32_t at = kSteppedLiterals; at < list.length; at += kChunk) {
      found = take(list, at, kChunk, masks, found);
      if (!found.any()) {
        if constexpr (!kIsConst<List>) promote(list.literals, at, true);
        break;
      }
    }
    const bool any = found.any();
    found.store(left + still * kBlockWords);
    fires |= static_cast<uint64_t>(any) << alive[k];
    still += any;
  }
  return fires;
}

template <class List>
static void match_patches(List* lists, size_t count, const uint64_t* masks, size_t block_stride,
                          size_t blocks, const uint64_t* valid, uint64_t* any, uint64_t* left) {
  const size_t words = blocks * kBlockWords;
  for (size_t first = 0; first < count; first += 64) {
    const uint32_t group = count - first < 64 ? static_cast<uint32_t>(count - first) : 64;
    if (blocks == 1) {
      const uint64_t fires = match64(lists + first, group, masks, Patches::load(valid), left);
      any[first / 64] = fires;
      left += static_cast<size_t>(__builtin_popcountll(fires)) * words;
      continue;
    }
    // More than one block: a clause's patches are spread over its blocks' results.
    uint64_t found[64 * kBlockWords];
    uint64_t fires = 0;
    for (size_t w = 0; w < group * words; ++w) left[w] = 0;
    for (size_t b = 0; b < blocks; ++b) {
      const uint64_t here = match64(lists + first, group, masks + b * block_stride,
                                    Patches::load(valid + b * kBlockWords), found);
      const uint64_t* from = found;
      for (uint64_t bits = here; bits; bits &= bits - 1, from += kBlockWords) {
        const size_t j = static_cast<size_t>(__builtin_ctzll(bits));
        Patches::load(from).store(left + j * words + b * kBlockWords);
      }
      fires |= here;
    }
    any[first / 64] = fires;
    uint64_t* to = left;
    for (uint64_t bits = fires; bits; bits &= bits - 1, to += words) {
      const uint64_t* from = left + static_cast<size_t>(__builtin_ctzll(bits)) * words;
      for (size_t w = 0; w < words; ++w) to[w] = from[w];
    }
    left = to;
  }
}

static void match_block(const IncludeList& list, const uint64_t* masks, const uint64_t* valid,
                        uint64_t* found) {
  Patches left = Patches::load(valid);
  for (uint32_t at = 0; at < list.length && left.any(); at += kChunk) {
    left = take(list, at, kChunk, masks, left);
  }
  left.store(found);
}

static void add_votes(const uint64_t* any, size_t count, const int32_t* weights, size_t m,
                      int64_t* votes) {
  for (size_t w = 0; w < (count + 63) / 64; ++w) {
    for (uint64_t bits = any[w]; bits; bits &= bits - 1) {
      const int32_t* row = weights + (64 * w + static_cast<size_t>(__builtin_ctzll(bits))) * m;
      for (size_t i = 0; i < m; ++i) votes[i] += row[i];
    }
  }
}

static bool feedback(const Feedback& f, const uint32_t* spread, const uint64_t* valid, size_t words,
                     int8_t* row, uint64_t* include, uint64_t* flipped) {
  uint64_t changed = 0;
  for (size_t w = 0; w < words; ++w) {
    Row entries = Row::load(row + 64 * w);
    // Forgetting changes nothing where everything is forgotten.
    if (!f.truth && entries.at_floor(f.depth)) {
      include[w] = flipped[w] = 0;
      continue;
    }
    const uint64_t before = entries.include_bits();
    Row delta = Row::zero();
    if (f.truth) {
      const Mask truth = Mask::from_bits(f.truth[w]);
      for (uint32_t k = 0; k < f.type1; ++k) {
        const Mask forget = Mask::forget(spread + 32 * w, f.keys[k], f.q);
        delta = delta.minus(forget.without(truth));
        delta = delta.plus(f.boost ? truth : truth.without(forget));
      }
      if (f.type2) {
        delta = delta.plus(Mask::from_bits(~f.truth[w] & valid[w]), static_cast<int8_t>(f.type2));
      }
    } else {
      for (uint32_t k = 0; k < f.type1; ++k) {
        delta = delta.minus(Mask::forget(spread + 32 * w, f.keys[k], f.q));
      }
    }
    entries = entries.add_clipped(delta, f.depth);
    entries.store(row + 64 * w);
    include[w] = entries.include_bits();
    flipped[w] = before ^ include[w];
    changed |= flipped[w];
  }
  return changed != 0;
}

static void shift_masks(const uint64_t* bits, size_t shift, const uint64_t* valid, size_t blocks,
                        size_t block_stride, uint64_t* mask) {
  const size_t skip = shift / 64;
  const unsigned down = shift % 64;
  for (size_t b = 0; b < blocks; ++b) {
    uint64_t* out = mask + b * block_stride;
    const uint64_t* in = bits + skip + b * kBlockWords;
    for (size_t w = 0; w < kBlockWords; ++w) {
      // Two shifts, so that `down == 0` does not shift by 64.
      const uint64_t word = in[w] >> down | in[w + 1] << 1 << (63 - down);
      out[w] = word & valid[b * kBlockWords + w];
      out[kBlockWords + w] = ~word & valid[b * kBlockWords + w];
    }
  }
}

static constexpr Kernels table = {kIsaName,
                                  select,
                                  match_patches<IncludeList>,
                                  match_patches<const IncludeList>,
                                  match_block,
                                  add_votes,
                                  feedback,
                                  shift_masks};
