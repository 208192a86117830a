"""What every test may rely on."""

import os
import signal

import pytest

# Before NumPy and scikit-learn are imported, and for programs that tests start: what they compute
# here is too small for threads, which would only wait for those of tests beside them.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")


@pytest.fixture(autouse=True)
def usual_interrupts():
    """Python's own handler of Ctrl-C.

    A shell that starts the tests in the background makes them ignore Ctrl-C, and children inherit
    that; a command that was interrupted ignores what comes after it, as its process is to end.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)


# For whatever is started while tests are being collected.
signal.signal(signal.SIGINT, signal.default_int_handler)
