
/* Which examples a clause fires on, in any patch that its position literals leave. */
static void @P@_evaluate(const @P@_lanes *planes, uint32_t clause, size_t rows, @P@_lanes *output)
{
  uint64_t *fired = output[0];
  uint64_t all, some;
  @P@_lanes left;
  uint32_t row, column, at;
  size_t lane;
  for (lane = 0; lane < @P@_LANES; ++lane) {
    fired[lane] = 0;
    left[lane] = @P@_there(rows, lane);
  }
  for (row = @P@_windows[clause][0]; row <= @P@_windows[clause][1]; ++row) {
    for (column = @P@_windows[clause][2]; column <= @P@_windows[clause][3]; ++column) {
      const @P@_lanes *patch =
          planes + row * @P@_STRIDE_ROWS * @P@_IMAGE_ROW + column * @P@_STRIDE_COLUMNS * @P@_CHANNELS;
      @P@_lanes holds;
      for (lane = 0; lane < @P@_LANES; ++lane) holds[lane] = left[lane];
      for (at = @P@_ends[clause]; at < @P@_ends[clause + 1]; ++at) {
        const uint64_t *plane = patch[@P@_literals[at] >> 1];
        const uint64_t negated = (uint64_t)0 - (uint64_t)(@P@_literals[at] & 1);
        some = 0;
        for (lane = 0; lane < @P@_LANES; ++lane) some |= holds[lane] &= plane[lane] ^ negated;
        if (!some) break;
      }
      all = 0;
      for (lane = 0; lane < @P@_LANES; ++lane) {
        fired[lane] |= holds[lane];
        all |= left[lane] &= ~holds[lane];
      }
      if (!all) return;
    }
  }
}
