/* The clauses as a stream of bits. A clause is: with strict clauses over several patches, the rows
   and the columns that it may fire on, each as the number of a range; how many literals it has, and
   the gaps between their numbers; its weights. */
static @TAKEN@ @P@_take(size_t *at, unsigned count)
{
  @TAKEN@ value = 0;
  unsigned got = 0;
  while (got < count) {
    const unsigned shift = (unsigned)(*at & 7);
    const unsigned part = count - got < 8 - shift ? count - got : 8 - shift;
    const unsigned byte = (unsigned)@P@_clauses[*at >> 3] >> shift;
    value |= (@TAKEN@)(byte & ((1u << part) - 1)) << got;
    got += part;
    *at += part;
  }
  return value;
}

/* A number of any size: as many ones as it is above its \a low lowest bits, a zero, and these. */
static @TAKEN@ @P@_coded(size_t *at, unsigned low)
{
  @TAKEN@ high = 0;
  for (; (unsigned)@P@_clauses[*at >> 3] >> (*at & 7) & 1; ++*at) ++high;
  ++*at;
  return high << low | @P@_take(at, low);
}

/* The first and last of a range of places. */
static void @P@_range(size_t *at, unsigned bits, uint32_t places, uint32_t *range)
{
  uint32_t rest = (uint32_t)@P@_take(at, bits), first = 0;
  for (; rest >= places - first; ++first) rest -= places - first;
  range[0] = first;
  range[1] = first + rest;
}

/* Where a literal's bit lies, from the first of a patch on; the lowest bit is 1 for negations.
   Those of positions come as they are. */
static uint32_t @P@_place(uint32_t feature, uint32_t negated)
{
  uint32_t place = feature;
  if (feature + 1 > @P@_ABOVES) {
    const uint32_t inside = feature - @P@_ABOVES, row = inside / @P@_PATCH_ROW;
    place = row * @P@_IMAGE_ROW + inside % @P@_PATCH_ROW;
  }
  return place << 1 | negated;
}

/* Reads the literals of a clause: first those of positions. */
static size_t @P@_literals(size_t *at, uint32_t *literals, size_t *positions)
{
  const size_t count = (size_t)@P@_take(at, @P@_COUNT_BITS);
  uint32_t next = 0;
  unsigned low = 0;
  size_t i;
  while (count && count << (low + 1) <= @P@_LITERALS * 2 / 3) ++low;
  *positions = 0;
  for (i = 0; i < count; ++i, ++next) {
    uint32_t feature;
    next += (uint32_t)@P@_coded(at, low);
    feature = (next >> 1) + @P@_FIRST;
    literals[i] = @P@_place(feature, next & 1);
    *positions += feature + 1 <= @P@_ABOVES;
  }
  return count;
}

static int @P@_misses_position(uint32_t literal, uint32_t row, uint32_t column)
{
  const uint32_t t = literal >> 1;
  const int above = t + 1 < @P@_ROWS ? row > t : column > t - (@P@_ROWS - 1);
  return above == (int)(literal & 1);
}

/* The fewest literals that are false in a patch; no more than \a least are counted. */
static uint32_t @P@_misses(const uint8_t *bits, const uint32_t *literals, size_t count,
                      size_t positions, const uint32_t *window, uint32_t least)
{
  uint32_t row, column;
  for (row = window[0]; row <= window[1]; ++row) {
    for (column = window[2]; column <= window[3]; ++column) {
      const uint32_t begin =
          row * @P@_STRIDE_ROWS * @P@_IMAGE_ROW + column * @P@_STRIDE_COLUMNS * @P@_CHANNELS;
      uint32_t misses = 0;
      size_t i;
      for (i = 0; i < positions; ++i) misses += (uint32_t)@P@_misses_position(literals[i], row, column);
      for (; i < count && misses < least; ++i) {
        const uint32_t place = begin + (literals[i] >> 1);
        misses += (((uint32_t)bits[place >> 3] >> (place & 7)) & 1) == (literals[i] & 1);
      }
      if (misses < least) least = misses;
      if (least == 0) return 0;
    }
  }
  return least;
}

static void @P@_votes(@ARGUMENTS@, @VOTE@ *votes)
{
  uint8_t bits[(@P@_BITS + 7) / 8] = {0};
  uint32_t literals[@P@_MOST_LITERALS];
  uint32_t window[4] = {0, @P@_ROWS - 1, 0, @P@_COLUMNS - 1};
  size_t at = 0, positions, count;
  uint32_t clause, i, most, output;
  @P@_read(@VALUES@, bits);
  for (i = 0; i < @OUTPUTS@; ++i) votes[i] = 0;
  for (clause = 0; clause != @P@_CLAUSES; ++clause) {
    if (@P@_PLACED) {
      @P@_range(&at, @P@_ROW_BITS, @P@_ROWS, window);
      @P@_range(&at, @P@_COLUMN_BITS, @P@_COLUMNS, window + 2);
    }
    count = @P@_literals(&at, literals, &positions);
    /* A window alone is a clause, too. */
    most = count <= 1 ? 1 : count < @P@_TOLERANCE ? (uint32_t)count : @P@_TOLERANCE;
    output = most - @P@_misses(bits, literals, count, positions, window, most);
    for (i = 0; i < @OUTPUTS@; ++i) {
      const @TAKEN@ taken = @P@_coded(&at, @P@_WEIGHT_LOW);
      const @VOTE@ weight = (@VOTE@)(taken >> 1);
      votes[i] += (taken & 1 ? -weight - 1 : weight) * (@VOTE@)output;
    }
  }
}
