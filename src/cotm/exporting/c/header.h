/* A model made of rules, exported by cotm.

   Values of an example, @UPPER@_VALUES in a row:
@COLUMNS@

   Nothing is allocated, and nothing is written but what is passed for it. */
#ifndef @UPPER@_H
#define @UPPER@_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The type of values: any type of numbers, the same wherever this header is included. */
#ifndef @UPPER@_VALUE
#define @UPPER@_VALUE @VALUE_DEFAULT@
#endif
typedef @UPPER@_VALUE @NAME@_value;
typedef @VOTE_TYPE@ @NAME@_vote;

#define @UPPER@_VALUES @N_VALUES@
#define @UPPER@_OUTPUTS @N_OUTPUTS@

@SCALE@/* What the outputs are called, in UTF-8. */
extern const char *const @NAME@_classes[@UPPER@_OUTPUTS];

/* Votes of rows of values, @UPPER@_OUTPUTS for each@UNIT@. */
void @NAME@_votes(@ARGUMENTS@, size_t rows, @NAME@_vote *votes);

/* Of each row @MEANING@. */
void @NAME@_predict(@ARGUMENTS@, size_t rows, @PREDICTED@);

#ifdef __cplusplus
}
#endif

#endif
