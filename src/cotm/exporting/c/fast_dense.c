/* The sums of votes lie example beside example, output after output: what a clause says becomes a
   byte for each example, and all of them are multiplied and added, which compilers turn into
   vectors. */
typedef @SUM@ @P@_sum;
#define @P@_SUMS (@OUTPUTS@ * 64 * @P@_LANES)

static void @P@_add(const @P@_lanes *output, const @P@_stored *weights, size_t rows, @P@_sum *sums,
                    @VOTE@ *votes)
{
  uint64_t said[8 * @P@_LANES];
  size_t i, k, digit;
  const uint8_t *each = (const uint8_t *)said;
  (void)rows;
  (void)votes;
  memset(said, 0, sizeof said);
  for (digit = 0; digit < @P@_DIGITS; ++digit) {
    for (k = 0; k < 8 * @P@_LANES; ++k) {
      /* Bit j of a byte of the word becomes byte j of a word of its own. */
      uint64_t bits = (output[digit][k / 8] >> (8 * (k % 8))) & 255;
      bits = (bits * UINT64_C(0x0101010101010101)) & UINT64_C(0x8040201008040201);
      bits = ((bits + UINT64_C(0x7F7F7F7F7F7F7F7F)) | bits) >> 7;
      said[k] += (bits & UINT64_C(0x0101010101010101)) << digit;
    }
  }
  for (i = 0; i < @OUTPUTS@; ++i) {
    const @P@_sum weight = (@P@_sum)weights[i];
    @P@_sum *to = sums + i * 64 * @P@_LANES;
    for (k = 0; k < 64 * @P@_LANES; ++k) to[k] = (@P@_sum)(to[k] + (@P@_sum)(each[k] * weight));
  }
}

static void @P@_sum_up(const @P@_sum *sums, size_t rows, @VOTE@ *votes)
{
  static const union { uint64_t word; uint8_t bytes[8]; } one = {1};
  /* Byte j of a word is the example with this number; where bytes are in the other order, 7 - j. */
  const size_t turned = one.bytes[0] ? 0 : 7;
  size_t i, row;
  for (row = 0; row < rows; ++row)
    for (i = 0; i < @OUTPUTS@; ++i)
      votes[row * @OUTPUTS@ + i] = sums[i * 64 * @P@_LANES + (row ^ turned)];
}
