
/* What a clause says of each example, digit by digit: its most less the misses of the best patch. */
static void @P@_evaluate(const @P@_lanes *planes, uint32_t clause, size_t rows, @P@_lanes *output)
{
  const uint32_t first = @P@_ends[clause], middle = @P@_middles[clause], end = @P@_ends[clause + 1];
  const uint32_t most = end - first < @P@_TOLERANCE ? end - first : @P@_TOLERANCE;
  uint32_t row, column, at;
  size_t lane, digit;
  memset(output, 0, @P@_DIGITS * sizeof *output);
  for (row = 0; row < @P@_ROWS; ++row) {
    for (column = 0; column < @P@_COLUMNS; ++column) {
      const @P@_lanes *patch =
          planes + row * @P@_STRIDE_ROWS * @P@_IMAGE_ROW + column * @P@_STRIDE_COLUMNS * @P@_CHANNELS;
      @P@_lanes grade[@P@_DIGITS], better, equal;
      uint64_t some = 0;
      uint32_t misses = 0;
      for (at = first; at < middle; ++at) {
        const uint32_t t = @P@_literals[at] >> 1;
        const uint32_t above = t + 1 < @P@_ROWS ? row > t : column > t - (@P@_ROWS - 1);
        misses += above == (uint32_t)(@P@_literals[at] & 1);
      }
      if (misses >= most) continue;
      for (digit = 0; digit < @P@_DIGITS; ++digit)
        for (lane = 0; lane < @P@_LANES; ++lane)
          grade[digit][lane] =
              (most - misses) >> digit & 1 ? @P@_there(rows, lane) : 0;
      for (at = middle; at < end; ++at) {
        const uint64_t *plane = patch[@P@_literals[at] >> 1];
        const uint64_t negated = (uint64_t)0 - (uint64_t)(@P@_literals[at] & 1);
        some = 0;
        for (lane = 0; lane < @P@_LANES; ++lane) {
          uint64_t left = 0, borrow = ~(plane[lane] ^ negated);
          for (digit = 0; digit < @P@_DIGITS; ++digit) left |= grade[digit][lane];
          borrow &= left; /* what is 0 stays 0 */
          for (digit = 0; digit < @P@_DIGITS; ++digit) {
            const uint64_t before = grade[digit][lane];
            grade[digit][lane] = before ^ borrow;
            borrow &= ~before;
            some |= grade[digit][lane];
          }
        }
        if (!some) break;
      }
      /* The larger of what it says here and elsewhere. */
      memset(better, 0, sizeof better);
      memset(equal, -1, sizeof equal);
      for (digit = @P@_DIGITS; digit-- > 0;)
        for (lane = 0; lane < @P@_LANES; ++lane) {
          better[lane] |= equal[lane] & grade[digit][lane] & ~output[digit][lane];
          equal[lane] &= ~(grade[digit][lane] ^ output[digit][lane]);
        }
      for (digit = 0; digit < @P@_DIGITS; ++digit)
        for (lane = 0; lane < @P@_LANES; ++lane)
          output[digit][lane] =
              (grade[digit][lane] & better[lane]) | (output[digit][lane] & ~better[lane]);
    }
  }
}
