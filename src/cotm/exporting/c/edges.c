
/* Sets the bits of numbers above their quantiles, from plane first on. */
static void @P@_planes(const int32_t *numbers, const uint16_t *parts, size_t n_parts, size_t first,
                       @WORD@ *bits)
{
  int32_t thresholds[64];
  size_t pixel, k;
  @P@_quantiles(numbers, @P@_PIXELS, parts, n_parts, thresholds);
  for (pixel = 0; pixel < @P@_PIXELS; ++pixel)
    for (k = 0; k != n_parts; ++k)
      @P@_set(bits, pixel * @P@_CHANNELS + first + k, numbers[pixel] > thresholds[k]);
}

/* Bits of an image: its levels, and how strong edges through its pixels are. */
static void @P@_read(@ARGUMENTS@, @WORD@ *bits)
{
  int32_t numbers[@P@_PIXELS];
  size_t channel, kernel, pixel, plane = 0;
  for (channel = 0; channel < @P@_IMAGE_CHANNELS; ++channel) {
    for (pixel = 0; pixel < @P@_PIXELS; ++pixel)
      numbers[pixel] = (int32_t)values[pixel * @P@_IMAGE_CHANNELS + channel];
    @P@_planes(numbers, @P@_levels, @P@_LEVELS, plane, bits);
    plane += @P@_LEVELS;
    for (kernel = 0; kernel != @P@_KERNELS; ++kernel) {
      for (pixel = 0; pixel < @P@_PIXELS; ++pixel) {
        const int y = (int)(pixel / @P@_IMAGE_WIDTH), x = (int)(pixel % @P@_IMAGE_WIDTH);
        int down, right;
        numbers[pixel] = 0;
        for (down = -3; down <= 3; ++down)
          for (right = -3; right <= 3; ++right) {
            const int row = y + down, column = x + right;
            if (row < 0 || row >= @P@_IMAGE_HEIGHT || column < 0 || column >= @P@_IMAGE_WIDTH)
              continue;
            numbers[pixel] +=
                @P@_kernels[kernel][(down + 3) * 7 + right + 3] *
                (int32_t)values[(size_t)(row * @P@_IMAGE_WIDTH + column) * @P@_IMAGE_CHANNELS +
                                channel];
          }
      }
      @P@_planes(numbers, @P@_positive, @P@_POSITIVE, plane, bits);
      plane += @P@_POSITIVE;
      for (pixel = 0; pixel < @P@_PIXELS; ++pixel) numbers[pixel] = -numbers[pixel];
      @P@_planes(numbers, @P@_negative, @P@_NEGATIVE, plane, bits);
      plane += @P@_NEGATIVE;
    }
  }
}
