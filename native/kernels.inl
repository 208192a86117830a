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

// The patches of one block that satisfy a clause. A literal that ends the clause late moves
// towards the front, where it will end it early the next time.
template <class List>
static inline Patches match_block(List& list, const uint64_t* masks, Patches left) {
  uint32_t* literals = list.literals;
  for (uint32_t i = 0; i < kFreeLiterals; ++i) {
    left = left & Patches::load(masks + literals[i] * kBlockWords);
  }
  for (uint32_t i = kFreeLiterals; i < list.length && left.any(); ++i) {
    left = left & Patches::load(masks + literals[i] * kBlockWords);
    if constexpr (!kIsConst<List>) {
      if (!left.any()) {
        const uint32_t killer = literals[i];
        literals[i] = literals[i / 2];
        literals[i / 2] = killer;
      }
    }
  }
  return left;
}

template <class List>
static void match_patches(List* lists, size_t count, const uint64_t* masks, size_t block_stride,
                          size_t blocks, const uint64_t* valid, uint64_t* any, uint64_t* left) {
  for (size_t w = 0; w < (count + 63) / 64; ++w) any[w] = 0;
  for (size_t j = 0; j < count; ++j) {
    uint64_t* out = left + j * blocks * kBlockWords;
    bool fires = false;
    for (size_t b = 0; b < blocks; ++b) {
      const Patches found =
          match_block(lists[j], masks + b * block_stride, Patches::load(valid + b * kBlockWords));
      found.store(out + b * kBlockWords);
      fires |= found.any();
    }
    any[j / 64] |= static_cast<uint64_t>(fires) << (j % 64);
  }
}

static void match_rows(const uint64_t* include, size_t count, size_t words, const uint64_t* truth,
                       uint64_t* any) {
  for (size_t w = 0; w < (count + 63) / 64; ++w) any[w] = 0;
  for (size_t j = 0; j < count; ++j) {
    const uint64_t* row = include + j * words;
    size_t w = 0;
    for (; w + kBlockWords <= words; w += kBlockWords) {
      if (Patches::load(row + w).without(Patches::load(truth + w)).any()) break;
    }
    bool fires = w + kBlockWords > words;
    for (; fires && w < words; ++w) fires = (row[w] & ~truth[w]) == 0;
    any[j / 64] |= static_cast<uint64_t>(fires) << (j % 64);
  }
}

static void match_lists(IncludeList* lists, size_t count, const uint64_t* truth, uint64_t* any) {
  for (size_t w = 0; w < (count + 63) / 64; ++w) any[w] = 0;
  for (size_t j = 0; j < count; ++j) {
    uint32_t* literals = lists[j].literals;
    const uint32_t length = lists[j].length;
    uint32_t i = 0;
    while (i < length && (truth[literals[i] / 64] >> (literals[i] % 64) & 1)) ++i;
    if (i == length) {
      any[j / 64] |= uint64_t{1} << (j % 64);
    } else {
      const uint32_t killer = literals[i];
      literals[i] = literals[i / 2];
      literals[i / 2] = killer;
    }
  }
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
                     int8_t* row, uint64_t* include) {
  uint64_t changed = 0;
  for (size_t w = 0; w < words; ++w) {
    Row entries = Row::load(row + 64 * w);
    // Forgetting changes nothing where everything is forgotten.
    if (!f.truth && entries.at_floor(f.depth)) {
      include[w] = 0;
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
    changed |= before ^ include[w];
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
                                  match_rows,
                                  match_lists,
                                  add_votes,
                                  feedback,
                                  shift_masks};
