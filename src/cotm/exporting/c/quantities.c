
void @NAME@_predict(@ARGUMENTS@, size_t rows, double *quantities)
{
  static const double unit[@OUTPUTS@] = @UPPER@_UNIT, offset[@OUTPUTS@] = @UPPER@_OFFSET;
  @NAME@_vote votes[@BLOCK@ * @OUTPUTS@];
  size_t example, count, i;
  for (example = 0; example < rows; example += count) {
    count = rows - example < @BLOCK@ ? rows - example : @BLOCK@;
    @NAME@_votes(@VALUES_OF_EXAMPLE@, count, votes);
    for (i = 0; i < count * @OUTPUTS@; ++i)
      quantities[example * @OUTPUTS@ + i] =
        (double)votes[i] / unit[i % @OUTPUTS@] + offset[i % @OUTPUTS@];
  }
}
