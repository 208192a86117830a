"""What every test may rely on."""

import signal

# A shell that starts the tests in the background makes them ignore Ctrl-C, and children
# inherit that; the tests of interruption need the usual state.
signal.signal(signal.SIGINT, signal.default_int_handler)
