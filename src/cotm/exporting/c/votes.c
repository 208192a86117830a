@DIVIDED@
void @NAME@_votes(@ARGUMENTS@, size_t rows, @NAME@_vote *votes)
{
  size_t example, count;
@PART@  for (example = 0; example < rows; example += count, votes += count * @OUTPUTS@) {
    count = rows - example < @BLOCK@ ? rows - example : @BLOCK@;
@CALLS@
  }
}
