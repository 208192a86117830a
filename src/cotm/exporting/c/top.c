/* Exported by cotm. With @UPPER@_MAIN defined it is a program, which reads values from standard
   input, a line for each example, with tabs between, and prints votes and what is predicted. */
#include "@HEADER@"

#include <string.h>

#ifdef @UPPER@_MAIN
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#endif
