
/* Sorts numbers in ascending order, in place. */
static void @P@_sort(int32_t *numbers, size_t count)
{
  size_t parent, child, start = count / 2, end = count;
  while (end > 1) {
    int32_t number;
    if (start > 0) {
      number = numbers[--start];
    } else {
      number = numbers[--end];
      numbers[end] = numbers[0];
    }
    for (parent = start; (child = 2 * parent + 1) < end; parent = child) {
      if (child + 1 < end && numbers[child + 1] > numbers[child]) ++child;
      if (numbers[child] <= number) break;
      numbers[parent] = numbers[child];
    }
    numbers[parent] = number;
  }
}

/* The thresholds that are quantiles of the positive numbers. */
static void @P@_quantiles(const int32_t *numbers, size_t count, const uint16_t *parts,
                          size_t n_parts, int32_t *thresholds)
{
  int32_t positive[@P@_NUMBERS];
  size_t k, found = 0;
  for (k = 0; k < count; ++k)
    if (numbers[k] > 0) positive[found++] = numbers[k];
  @P@_sort(positive, found);
  for (k = 0; k < n_parts; ++k)
    thresholds[k] =
        parts[k] && found ? positive[(uint64_t)parts[k] * (found - 1) / 10000] : 0;
}
