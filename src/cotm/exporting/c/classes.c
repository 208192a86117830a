
void @NAME@_predict(@ARGUMENTS@, size_t rows, int32_t *classes)
{
  @NAME@_vote votes[@BLOCK@ * @OUTPUTS@];
  size_t example, count, row;
  for (example = 0; example < rows; example += count) {
    count = rows - example < @BLOCK@ ? rows - example : @BLOCK@;
    @NAME@_votes(@VALUES_OF_EXAMPLE@, count, votes);
    for (row = 0; row < count; ++row) {
      const @NAME@_vote *of = votes + row * @OUTPUTS@;
      int32_t best = 0, i;
      for (i = 1; i < @OUTPUTS@; ++i)
        if (of[i] > of[best]) best = i;
      classes[example + row] = best;
    }
  }
}
