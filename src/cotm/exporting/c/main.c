
#ifdef @UPPER@_MAIN
@SHOW@int main(void)
{
  static char line[1 << 20];
  static @NAME@_value values[@UPPER@_VALUES];
@TEXTS@  @NAME@_vote votes[@OUTPUTS@];
  @MADE@;
  size_t i, k;
  while (fgets(line, sizeof line, stdin)) {
    char *cell = line;
    line[strcspn(line, "\r\n")] = 0;
    for (k = 0; k < @UPPER@_VALUES; ++k) {
      char *end = cell + strcspn(cell, "\t"), *rest;
      const int last = *end == 0;
      *end = 0;
      values[k] = (@NAME@_value)strtod(cell, &rest);
      if (sizeof values[k] >= sizeof(float) && (!*cell || *rest)) values[k] = (@NAME@_value)NAN;@TEXT@
      if (last != (k + 1 == @UPPER@_VALUES)) {
        fprintf(stderr, "a line needs %d values with tabs between\n", @UPPER@_VALUES);
        return 1;
      }
      cell = end + 1;
    }
    @NAME@_votes(@PASSED@, 1, votes);
    @NAME@_predict(@PASSED@, 1, @INTO@);
    for (i = 0; i < @OUTPUTS@; ++i) printf("%.0f\t", (double)votes[i]);
    @PRINT@
    putchar('\n');
  }
  return 0;
}
#endif
