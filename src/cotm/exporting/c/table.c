
/* Bits of a table's row, each a test of a column. */
static void @P@_read(@ARGUMENTS@, @WORD@ *bits)
{
  size_t k;
  for (k = 0; k < @P@_BITS; ++k) {
    const size_t column = @P@_column[k];
    const double value = (double)values[column];
    int holds = 0;
@UNUSED@    switch (@P@_test[k]) {
@CASES@
    }
    @P@_set(bits, k, holds);
  }
}
