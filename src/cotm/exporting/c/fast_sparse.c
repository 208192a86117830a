/* Weights are added to the votes of the examples on which a clause fires. */
typedef @VOTE@ @P@_sum;
#define @P@_SUMS 1

/* The number of the lowest bit that is set. */
static size_t @P@_lowest(uint64_t word)
{
#ifdef __GNUC__
  return (size_t)__builtin_ctzll(word);
#else
  size_t number = 0;
  for (; !(word & 1); word >>= 1) ++number;
  return number;
#endif
}

static void @P@_add(const @P@_lanes *output, const @P@_stored *weights, size_t rows, @P@_sum *sums,
                    @VOTE@ *votes)
{
  size_t lane, digit, i;
  (void)sums;
  for (digit = 0; digit < @P@_DIGITS; ++digit) {
    for (lane = 0; lane * 64 < rows; ++lane) {
      uint64_t word = output[digit][lane];
      for (; word; word &= word - 1) {
        @VOTE@ *of = votes + (lane * 64 + @P@_lowest(word)) * @OUTPUTS@;
        for (i = 0; i < @OUTPUTS@; ++i) of[i] += (@VOTE@)weights[i] * ((@VOTE@)1 << digit);
      }
    }
  }
}

static void @P@_sum_up(const @P@_sum *sums, size_t rows, @VOTE@ *votes)
{
  (void)sums;
  (void)rows;
  (void)votes;
}
