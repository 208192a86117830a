/* Quantities are votes / @UPPER@_UNIT + @UPPER@_OFFSET of each output. */
#define @UPPER@_UNIT {@UNITS@}
#define @UPPER@_OFFSET {@OFFSETS@}

