
/* Bits of an image, each a channel's value above a threshold of the channel. */
static void @P@_read(@ARGUMENTS@, @WORD@ *bits)
{
  size_t pixel, channel, at, k = 0;
  for (pixel = 0; pixel < @P@_PIXELS; ++pixel) {
    for (channel = 0; channel < @P@_IMAGE_CHANNELS; ++channel) {
      const double value = (double)values[pixel * @P@_IMAGE_CHANNELS + channel];
      for (at = @P@_first_threshold[channel]; at < @P@_first_threshold[channel + 1]; ++at)
        @P@_set(bits, k++, value > @P@_thresholds[at]);
    }
  }
}
