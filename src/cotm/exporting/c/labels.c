
void @NAME@_predict(@ARGUMENTS@, size_t rows, uint8_t *labels)
{
  @NAME@_vote votes[@BLOCK@ * @OUTPUTS@];
  size_t example, count, i;
  for (example = 0; example < rows; example += count) {
    count = rows - example < @BLOCK@ ? rows - example : @BLOCK@;
    @NAME@_votes(@VALUES_OF_EXAMPLE@, count, votes);
    for (i = 0; i < count * @OUTPUTS@; ++i) labels[example * @OUTPUTS@ + i] = votes[i] >= 0;
  }
}
