"""A few of the requests that nobody would send; ``fuzz_requests.py`` sends as many as one likes."""

import os

import pytest
from fuzz_requests import fuzz, fuzz_bytes


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="memory is looked up in /proc")
def test_requests_that_nobody_would_send():
    told = fuzz(300)
    assert sum(told["statuses"].values()) == 300
    assert told["statuses"][200] > 20 and told["statuses"][422] > 50


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="memory is looked up in /proc")
def test_bytes_that_are_almost_http():
    assert fuzz_bytes(40)["requests"] == 40
