
/* The number of a gradient's direction. */
static size_t @P@_direction(int up, int right)
{
  size_t k;
  for (k = @P@_DIRECTIONS; k-- > 0;) {
    const int64_t here = (int64_t)up * @P@_along[k] - (int64_t)right * @P@_across[k];
    const int64_t next = (int64_t)up * @P@_along[k + 1] - (int64_t)right * @P@_across[k + 1];
    if (here >= 0 && next < 0) return k;
    if (!(@P@_SIGNED) && here <= 0 && next > 0) return k;
  }
  return 0;
}

/* How much brighter an image becomes at a place, along y or along x. */
static int @P@_slope(@ARGUMENTS@, int y, int x, size_t channel, int along_y)
{
  int row[2], column[2], end;
  for (end = 0; end < 2; ++end) {
    row[end] = along_y ? y + 1 - 2 * end : y;
    column[end] = along_y ? x : x - 1 + 2 * end;
    row[end] = row[end] < 0 ? 0 : row[end] >= @P@_IMAGE_HEIGHT ? @P@_IMAGE_HEIGHT - 1 : row[end];
    column[end] = column[end] < 0                  ? 0
                  : column[end] >= @P@_IMAGE_WIDTH ? @P@_IMAGE_WIDTH - 1
                                                   : column[end];
  }
  return (int)values[(size_t)(row[1] * @P@_IMAGE_WIDTH + column[1]) * @P@_IMAGE_CHANNELS + channel] -
         (int)values[(size_t)(row[0] * @P@_IMAGE_WIDTH + column[0]) * @P@_IMAGE_CHANNELS + channel];
}

/* Bits of an image: in which directions its cells become brighter. */
static void @P@_read(@ARGUMENTS@, @WORD@ *bits)
{
  int32_t sums[@P@_NUMBERS], thresholds[64];
  size_t group, k, cell, channel;
  for (group = 0; group < @P@_GROUPS; ++group) {
    int y, x, row, column;
    for (k = 0; k < @P@_NUMBERS; ++k) sums[k] = 0;
    for (y = 0; y < @P@_IMAGE_HEIGHT; ++y) {
      for (x = 0; x < @P@_IMAGE_WIDTH; ++x) {
        int strength = -1, up = 0, right = 0;
        for (channel = 0; channel < @P@_IMAGE_CHANNELS; ++channel) {
          int vertical, horizontal, here;
          if (@P@_GROUPS > 1 && channel != group) continue;
          vertical = @P@_slope(values, y, x, channel, 1);
          horizontal = @P@_slope(values, y, x, channel, 0);
          here = (vertical < 0 ? -vertical : vertical) + (horizontal < 0 ? -horizontal : horizontal);
          if (here > strength) strength = here, up = vertical, right = horizontal;
        }
        k = @P@_direction(up, right);
        for (row = 0; row < @P@_CELL_ROWS; ++row)
          for (column = 0; column < @P@_CELL_COLUMNS; ++column) {
            const int top = y - row * @P@_STEP_ROWS, left = x - column * @P@_STEP_COLUMNS;
            if (top < 0 || top >= @P@_CELL_HEIGHT || left < 0 || left >= @P@_CELL_WIDTH) continue;
            cell = (size_t)(row * @P@_CELL_COLUMNS + column);
            sums[cell * @P@_DIRECTIONS + k] += strength;
          }
      }
    }
    @P@_quantiles(sums, @P@_NUMBERS, @P@_parts, @P@_PARTS, thresholds);
    for (cell = 0; cell < @P@_CELL_ROWS * @P@_CELL_COLUMNS; ++cell)
      for (k = 0; k < @P@_DIRECTIONS * @P@_PARTS; ++k)
        @P@_set(bits, cell * @P@_CHANNELS + group * @P@_DIRECTIONS * @P@_PARTS + k,
                sums[cell * @P@_DIRECTIONS + k / @P@_PARTS] > thresholds[k % @P@_PARTS]);
  }
}
