"""The largest values that every backend can work with, each with its reason."""

#: Thresholds are computed as (2 T) * 2**32 in 64 bits.
MAX_T = 2**30
MAX_CLAUSES = 2**31 - 1
#: Outputs are 24 bits of a random number's key.
MAX_OUTPUTS = 2**24
#: Of a patch. The native backend keeps 16 words for each, and their places have 32 bits.
MAX_FEATURES = 2**28
#: The largest weight magnitude; weights are int32 everywhere.
WEIGHT_LIMIT = 2**31 - 1
#: The most states that vote together; more would take much memory for little.
MAX_AVERAGE = 1000
#: Sizes of images, patches and strides are 32-bit in every backend.
MAX_SIZE = 2**30
#: The largest share of clauses that sleep: as 32 bits it is below one.
MAX_DROPPED = 0.99
#: A clause's output, from 0 to the tolerance, times a weight and a clause count stays in 64 bits.
MAX_TOLERANCE = 2**15
