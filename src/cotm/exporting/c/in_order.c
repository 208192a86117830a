
/* Bits of values, in their order. */
static void @P@_read(@ARGUMENTS@, @WORD@ *bits)
{
  size_t k, bit;
  for (k = 0; k < @P@_BITS; k += @WORD_BITS@) {
    const size_t count = @P@_BITS - k < @WORD_BITS@ ? @P@_BITS - k : @WORD_BITS@;
    @WORD@ word = 0;
    for (bit = 0; bit < count; ++bit)
      word |= (@WORD@)((@WORD@)((double)values[k + bit] > @LIMIT@) << bit);
    bits[k / @WORD_BITS@] = word;
  }
}
