// Sampled forgetting, and the bits it reads, over the types that kernels.inl explains.

// kTrue: there is something for literals that are true. kUp: an excluded literal can rise, and only
// then can one flip: included ones never fall.
template <bool kTrue, bool kUp>
static uint32_t plain_feedback_as(const PlainFeedback& f, const uint64_t* valid, size_t words,
                                  int8_t* row, const RowBits& bits, uint32_t* changed) {
  uint32_t count = 0;
  for (size_t w = 0; w < words; ++w, row += 64) {
    const Row before = Row::load(row);
    const uint64_t included = before.include_bits();
    const uint64_t open = valid[w] & ~(f.truth[w] | included);
    Row delta = Row::zero().plus(Mask::from_bits(open), f.to_open);
    if constexpr (kTrue) delta = delta.plus(Mask::from_bits(f.truth[w] & valid[w]), f.to_true);
    const Row after = before.plus_saturated(delta).clipped(f.floor, f.top);
    after.store(row);
    if constexpr (kUp) {
      const uint64_t include = after.include_bits();
      if (include != included) {
        bits.include[w] = include;
        bits.flipped[w] = include ^ included;
        changed[count++] = static_cast<uint32_t>(w);
      }
    }
  }
  return count;
}

static uint32_t plain_feedback(const PlainFeedback& f, const uint64_t* valid, size_t words,
                               int8_t* row, const RowBits& bits, uint32_t* changed) {
  if (f.to_true) return plain_feedback_as<true, true>(f, valid, words, row, bits, changed);
  if (f.to_open > 0) return plain_feedback_as<false, true>(f, valid, words, row, bits, changed);
  if (f.to_open < 0) return plain_feedback_as<false, false>(f, valid, words, row, bits, changed);
  return 0;
}

static void pick(Key key, uint32_t first, uint32_t count, uint32_t features, uint32_t* literals) {
  for (uint32_t k = 0; k < count; k += kPickLanes) {
    pick_lanes(key, first + k, features, literals + k);
  }
}

static void include_bits(const int8_t* row, size_t words, uint64_t* include) {
  for (size_t w = 0; w < words; ++w) include[w] = Row::load(row + 64 * w).include_bits();
}

static void interleave(const uint64_t* features, const uint64_t* valid, size_t words,
                       uint64_t* truth) {
  for (size_t w = interleave_many(features, valid, words, truth); w < words; ++w) {
    // Bit k to bit 2k, its negation to bit 2k + 1.
    uint64_t x = static_cast<uint32_t>(features[w / 2] >> (w % 2 * 32));
    x = (x | x << 16) & 0x0000FFFF0000FFFFu;
    x = (x | x << 8) & 0x00FF00FF00FF00FFu;
    x = (x | x << 4) & 0x0F0F0F0F0F0F0F0Fu;
    x = (x | x << 2) & 0x3333333333333333u;
    x = (x | x << 1) & 0x5555555555555555u;
    truth[w] = (x | (~x & 0x5555555555555555u) << 1) & valid[w];
  }
}
