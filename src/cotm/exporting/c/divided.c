
/* A member's votes in the unit of all: divided, to the floor. */
static int64_t divided(int64_t votes, int64_t divisor)
{
  const int64_t parts = votes * (INT64_C(1) << 32);
  return parts / divisor - (parts % divisor < 0);
}
