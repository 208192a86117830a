
/* A product and a sum as float32: rounded after both ("fused"), or after each. */
static float @P@_plus(float total, float value, float weight, int fused)
{
  const double product = (double)value * (double)weight; /* which is exact */
  return fused ? (float)(product + (double)total)
               : (float)((double)total + (double)(float)product);
}

static size_t @P@_inside(size_t place, size_t step, size_t size)
{
  const size_t half = @P@_TAPS / 2;
  return place + step < half ? 0 : place + step - half >= size ? size - 1 : place + step - half;
}

/* Bits of an image: is a pixel above the blurred image less a constant? Sums are in the order, and
   rounded, as in OpenCV. */
static void @P@_read(@ARGUMENTS@, @WORD@ *bits)
{
  float across[@P@_PIXELS], blurred;
  size_t channel, y, x, tap;
  for (channel = 0; channel < @P@_IMAGE_CHANNELS; ++channel) {
    const @VALUE@ *plane = values + channel;
    for (y = 0; y < @P@_IMAGE_HEIGHT; ++y) {
      for (x = 0; x < @P@_IMAGE_WIDTH; ++x) {
        const size_t begin = y * @P@_IMAGE_WIDTH;
        const size_t fused = x < @P@_IMAGE_WIDTH / 4 * 4 ? 1 : @P@_TAPS / 4 * 4 + 1;
        float total = 0;
        for (tap = 0; tap < @P@_TAPS && @P@_IMAGE_WIDTH > 1; ++tap) {
          const size_t from = begin + @P@_inside(x, tap, @P@_IMAGE_WIDTH);
          const float pixel = (float)plane[from * @P@_IMAGE_CHANNELS];
          total = @P@_plus(total, pixel, @P@_kernel[tap], tap >= fused);
        }
        across[begin + x] =
            @P@_IMAGE_WIDTH > 1 ? total : (float)plane[(begin + x) * @P@_IMAGE_CHANNELS];
      }
    }
    for (y = 0; y < @P@_IMAGE_HEIGHT; ++y) {
      for (x = 0; x < @P@_IMAGE_WIDTH; ++x) {
        const size_t half = @P@_TAPS / 2, place = y * @P@_IMAGE_WIDTH + x;
        int mean;
        blurred = across[place];
        if (@P@_IMAGE_HEIGHT > 1) {
          blurred = @P@_plus(0, across[place], @P@_kernel[half], 0);
          for (tap = 1; tap <= half; ++tap) {
            const size_t below = @P@_inside(y, half + tap, @P@_IMAGE_HEIGHT);
            const size_t above = @P@_inside(y, half - tap, @P@_IMAGE_HEIGHT);
            const float pair = (float)((double)across[below * @P@_IMAGE_WIDTH + x] +
                                       (double)across[above * @P@_IMAGE_WIDTH + x]);
            blurred = @P@_plus(blurred, pair, @P@_kernel[half + tap],
                               x < @P@_IMAGE_WIDTH / 8 * 8);
          }
        }
        mean = (int)blurred;
        if (blurred - (float)mean > 0.5f || (blurred - (float)mean == 0.5f && mean % 2)) ++mean;
        if (mean > 255) mean = 255;
        @P@_set(bits, place * @P@_IMAGE_CHANNELS + channel,
                (int)plane[place * @P@_IMAGE_CHANNELS] > mean - (@P@_CONSTANT));
      }
    }
  }
}
