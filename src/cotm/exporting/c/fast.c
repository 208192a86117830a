/* 64 examples in a word, and @P@_LANES words side by side, which compilers turn into vectors.
   planes[k][lane] holds bit k of these examples. */
typedef uint64_t @P@_lanes[@P@_LANES];

/* Turns 64 words of 64 bits: bit j of word i becomes bit i of word j. */
static void @P@_turn(uint64_t *words)
{
  uint64_t mask = UINT64_C(0x00000000FFFFFFFF);
  unsigned width, first, k;
  for (width = 32; width; width >>= 1, mask ^= mask << width) {
    for (first = 0; first < 64; first += 2 * width) {
      for (k = first; k < first + width; ++k) {
        const uint64_t moved = ((words[k] >> width) ^ words[k + width]) & mask;
        words[k] ^= moved << width;
        words[k + width] ^= moved;
      }
    }
  }
}

static void @P@_slice(@ARGUMENTS@, size_t rows, @P@_lanes *planes)
{
  uint64_t bits[64][(@P@_BITS + 63) / 64], words[64];
  size_t lane, row, k, bit;
  for (lane = 0; lane < @P@_LANES && lane * 64 < rows; ++lane) {
    memset(bits, 0, sizeof bits);
    for (row = 0; row < 64 && lane * 64 + row < rows; ++row) {
      const size_t example = lane * 64 + row;
      @P@_read(@VALUES_OF_EXAMPLE@, bits[row]);
    }
    for (k = 0; k < @P@_BITS; k += 64) {
      for (row = 0; row < 64; ++row) words[row] = bits[row][k / 64];
      @P@_turn(words);
      for (bit = 0; bit < 64 && k + bit < @P@_BITS; ++bit) planes[k + bit][lane] = words[bit];
    }
  }
}

/* The examples that there are of a word's. */
static uint64_t @P@_there(size_t rows, size_t lane)
{
  if (rows >= lane * 64 + 64) return ~UINT64_C(0);
  return rows <= lane * 64 ? 0 : (UINT64_C(1) << (rows - lane * 64)) - 1;
}

@ADD@@EVALUATE@
static void @P@_votes(@ARGUMENTS@, size_t rows, @VOTE@ *votes)
{
  @P@_lanes planes[@P@_BITS], output[@P@_DIGITS];
  @P@_sum sums[@P@_SUMS];
  uint32_t clause;
  memset(sums, 0, sizeof sums);
  memset(votes, 0, rows * @OUTPUTS@ * sizeof *votes);
  if (rows <= 64 * (@P@_LANES - 1)) memset(planes, 0, sizeof planes);
  @P@_slice(@VALUES@, rows, planes);
  for (clause = 0; clause != @P@_CLAUSES; ++clause) {
    @P@_evaluate((const @P@_lanes *)planes, clause, rows, output);
    @P@_add((const @P@_lanes *)output, @P@_weights[clause], rows, sums, votes);
  }
  @P@_sum_up(sums, rows, votes);
}
