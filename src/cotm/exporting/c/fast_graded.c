
static const @P@_lanes @P@_ones = {@ONES@};

/* Takes the misses of four literals from the numbers in grade; who falls below 0 leaves alive. */
static void @P@_take_misses(const @P@_lanes *const *planes, const uint64_t *negated,
                            @P@_lanes *grade, uint64_t *alive)
{
  const uint64_t *p0 = *planes[0], *p1 = *planes[1], *p2 = *planes[2], *p3 = *planes[3];
  const uint64_t n0 = ~negated[0], n1 = ~negated[1], n2 = ~negated[2], n3 = ~negated[3];
  size_t lane;
  for (lane = 0; lane < @P@_LANES; ++lane) {
    const uint64_t a = p0[lane] ^ n0, b = p1[lane] ^ n1, c = p2[lane] ^ n2, d = p3[lane] ^ n3;
    const uint64_t two = a ^ b, three = two ^ c;
    const uint64_t carry = (a & b) | (two & c), again = three & d;
    const uint64_t m0 = three ^ d, m1 = carry ^ again, m2 = carry & again;
    uint64_t from, borrow = 0;
@SUBTRACT@
    alive[lane] &= ~borrow;
  }
}

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
      @P@_lanes grade[@P@_DIGITS], alive, better, equal;
      uint64_t some = 1;
      uint32_t misses = 0;
      for (at = first; at < middle; ++at) {
        const uint32_t t = @P@_literals[at] >> 1;
        const uint32_t above = t + 1 < @P@_ROWS ? row > t : column > t - (@P@_ROWS - 1);
        misses += above == (uint32_t)(@P@_literals[at] & 1);
      }
      if (misses >= most) continue;
      for (lane = 0; lane < @P@_LANES; ++lane) alive[lane] = @P@_there(rows, lane);
      for (digit = 0; digit < @P@_DIGITS; ++digit)
        for (lane = 0; lane < @P@_LANES; ++lane)
          grade[digit][lane] = (uint64_t)0 - (uint64_t)((most - misses) >> digit & 1);
      for (at = middle; at < end && some; at += 4) {
        const @P@_lanes *four[4] = {&@P@_ones, &@P@_ones, &@P@_ones, &@P@_ones};
        uint64_t negated[4] = {0, 0, 0, 0};
        uint32_t k;
        for (k = 0; k < 4 && at + k < end; ++k) {
          four[k] = patch + (@P@_literals[at + k] >> 1);
          negated[k] = (uint64_t)0 - (uint64_t)(@P@_literals[at + k] & 1);
        }
        @P@_take_misses(four, negated, grade, alive);
        if (((at - middle) & 15) != 12) continue; /* not after each four: it takes as long */
        for (some = 0, lane = 0; lane < @P@_LANES; ++lane) some |= alive[lane];
      }
      /* The larger of what it says here and elsewhere. */
      memset(better, 0, sizeof better);
      memset(equal, -1, sizeof equal);
      for (digit = @P@_DIGITS; digit-- > 0;)
        for (lane = 0; lane < @P@_LANES; ++lane) {
          grade[digit][lane] &= alive[lane];
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
