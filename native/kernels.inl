// The kernels, written once over the small types a kernels_*.cpp file defines before it
// includes this one, in a namespace of its own:
//   Patches  one block of 512 patches: load, operator&, without (and not), any, store
//   Mask     one flag per literal of 64: from_bits, without, forget
//   Row      64 memory entries: load, plus, minus, *_saturated, clipped, store, include_bits
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

template <class Literal>
static inline Patches take(const Literal* literals, uint32_t count, const uint64_t* masks,
                           Patches left) {
  for (uint32_t i = 0; i < count; ++i) {
    left = left & Patches::load(masks + size_t{literals[i]} * kBlockWords);
  }
  return left;
}

// Moves the literals that ended a clause towards the front, where they will end it early the
// next time. Without a branch: `ended` is as good as random.
template <class Head>
static inline void promote(Head* head, uint32_t at, bool ended) {
  const uint32_t to = ended ? at / 2 / kChunk * kChunk : at;
  struct Chunk {
    Head literals[kChunk];
  } chunk, other;
  __builtin_memcpy(&chunk, head + at, sizeof(Chunk));
  __builtin_memcpy(&other, head + to, sizeof(Chunk));
  __builtin_memcpy(head + at, &other, sizeof(Chunk));
  __builtin_memcpy(head + to, &chunk, sizeof(Chunk));
}

// The same from the tail, into the second half of the head.
template <class Head>
static inline void promote_tail(Head* head, uint32_t* literals) {
  for (uint32_t i = 0; i < kChunk; ++i) {
    const uint32_t literal = head[kFreeLiterals + i];
    head[kFreeLiterals + i] = static_cast<Head>(literals[i]);
    literals[i] = literal;
  }
}

// Up to 64 clauses over one block of patches; returns a bit per clause that some patch
// satisfies, and those patches in `left`, clause after clause.
//
// Most clauses end within a few literals, but not after the same number, and a branch on that
// is mispredicted more often than not. So all clauses take the first literals untested, those
// that are left take the next, and only the few still left are followed to the end.
template <class Head, class AnyTail>
static inline uint64_t match64(Head* heads, AnyTail* tails, uint32_t count, const uint64_t* masks,
                               const Patches valid, uint64_t* left) {
  uint32_t alive[64], kept = 0;
  for (uint32_t j = 0; j < count; ++j) {
    const Patches found = take(heads + j * kHead, kFreeLiterals, masks, valid);
    found.store(left + kept * kBlockWords);
    alive[kept] = j;
    kept += found.any();
  }
  for (uint32_t at = kFreeLiterals; at < kHead; at += kChunk) {
    uint32_t still = 0;
    for (uint32_t k = 0; k < kept; ++k) {
      Head* head = heads + alive[k] * kHead;
      const Patches found = take(head + at, kChunk, masks, Patches::load(left + k * kBlockWords));
      const bool any = found.any();
      if constexpr (!kIsConst<Head>) promote(head, at, !any);
      found.store(left + still * kBlockWords);
      alive[still] = alive[k];
      still += any;
    }
    kept = still;
  }
  uint64_t fires = 0;
  uint32_t still = 0;
  for (uint32_t k = 0; k < kept; ++k) {
    AnyTail& tail = tails[alive[k]];
    Patches found = Patches::load(left + k * kBlockWords);
    for (uint32_t at = 0; at < tail.length; at += kChunk) {
      found = take(tail.literals + at, kChunk, masks, found);
      if (!found.any()) {
        if constexpr (!kIsConst<Head>) promote_tail(heads + alive[k] * kHead, tail.literals + at);
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

template <class Head, class AnyTail>
static void match_patches(Head* heads, AnyTail* tails, size_t count, const PatchMasks& masks,
                          uint64_t* any, uint64_t* left) {
  const size_t words = masks.blocks * kBlockWords;
  for (size_t first = 0; first < count; first += 64, heads += 64 * kHead, tails += 64) {
    const uint32_t group = count - first < 64 ? static_cast<uint32_t>(count - first) : 64;
    if (masks.blocks == 1) {
      const uint64_t fires =
          match64(heads, tails, group, masks.masks, Patches::load(masks.valid), left);
      any[first / 64] = fires;
      left += static_cast<size_t>(__builtin_popcountll(fires)) * words;
      continue;
    }
    // More than one block: a clause's patches are spread over its blocks' results.
    uint64_t found[64 * kBlockWords];
    uint64_t fires = 0;
    for (size_t w = 0; w < group * words; ++w) left[w] = 0;
    for (size_t b = 0; b < masks.blocks; ++b) {
      const uint64_t here = match64(heads, tails, group, masks.masks + b * masks.block_stride,
                                    Patches::load(masks.valid + b * kBlockWords), found);
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

template <class Head>
static void match_block(const Head* head, const Tail& tail, const uint64_t* masks,
                        const uint64_t* valid, uint64_t* found) {
  Patches left = Patches::load(valid);
  for (uint32_t at = 0; at < kHead && left.any(); at += kChunk) {
    left = take(head + at, kChunk, masks, left);
  }
  for (uint32_t at = 0; at < tail.length && left.any(); at += kChunk) {
    left = take(tail.literals + at, kChunk, masks, left);
  }
  left.store(found);
}

static void add_votes(const uint64_t* any, size_t count, const int32_t* weights, size_t stride,
                      size_t m, int64_t* votes) {
  for (size_t w = 0; w < (count + 63) / 64; ++w) {
    for (uint64_t bits = any[w]; bits; bits &= bits - 1) {
      const int32_t* row = weights + (64 * w + static_cast<size_t>(__builtin_ctzll(bits))) * stride;
      for (size_t i = 0; i < m; ++i) votes[i] += row[i];
    }
  }
}

static void scatter_votes(const uint64_t* found, const int32_t* weights, size_t stride,
                          int64_t* votes) {
  for (size_t w = 0; w < kBlockWords; ++w) {
    for (uint64_t bits = found[w]; bits; bits &= bits - 1) {
      int64_t* row = votes + (64 * w + static_cast<size_t>(__builtin_ctzll(bits))) * stride;
      for (size_t i = 0; i < stride; i += 4) {
        for (size_t k = 0; k < 4; ++k) row[i + k] += weights[i + k];
      }
    }
  }
}

// What one output's Type I does to a clause that did not fire: by far the most frequent
// feedback, so it has a loop of its own. kDeep: entries use all of an int8, which saturates.
template <bool kDeep>
static bool forget_row(Key key, uint32_t q, int32_t depth, const uint32_t* spread, size_t words,
                       int8_t* row, uint64_t* include, uint64_t* flipped) {
  uint64_t changed = 0;
  for (size_t w = 0; w < words; ++w) {
    const Row before = Row::load(row + 64 * w);
    Row after = before.minus_saturated(Mask::forget(spread + 32 * w, key, q));
    if constexpr (!kDeep) after = after.clipped(depth);
    after.store(row + 64 * w);
    include[w] = after.include_bits();
    flipped[w] = before.include_bits() ^ include[w];
    changed |= flipped[w];
  }
  return changed != 0;
}

static bool feedback(const Feedback& f, const uint32_t* spread, const uint64_t* valid, size_t words,
                     int8_t* row, uint64_t* include, uint64_t* flipped) {
  if (!f.truth && f.type1 == 1) {
    return (f.depth == 128 ? forget_row<true> : forget_row<false>)(f.keys[0], f.q, f.depth, spread,
                                                                   words, row, include, flipped);
  }
  uint64_t changed = 0;
  for (size_t w = 0; w < words; ++w) {
    const Row before = Row::load(row + 64 * w);
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
    const Row after = before.plus_saturated(delta).clipped(f.depth);
    after.store(row + 64 * w);
    include[w] = after.include_bits();
    flipped[w] = before.include_bits() ^ include[w];
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

static constexpr Kernels table = {
    kIsaName,
    select,
    match_patches<uint16_t, Tail>,
    match_patches<uint32_t, Tail>,
    match_patches<const uint16_t, const Tail>,
    match_patches<const uint32_t, const Tail>,
    match_block<uint16_t>,
    match_block<uint32_t>,
    add_votes,
    scatter_votes,
    feedback,
    shift_masks,
};
