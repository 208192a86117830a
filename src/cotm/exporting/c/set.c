
static void @P@_set(@WORD@ *bits, size_t k, int value)
{
  bits[k / @WORD_BITS@] |= (@WORD@)((@WORD@)(value != 0) << (k % @WORD_BITS@));
}
