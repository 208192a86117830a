/* Probabilities are a softmax, or for several labels the logistic function of each, of votes (plus
   0.5 for several labels) / margin * sharpness. */
#define @UPPER@_MARGIN @MARGIN@
#define @UPPER@_SHARPNESS @SHARPNESS@

