"""Fuzzers are programs of their own, in which pytest has nothing to look for."""

collect_ignore_glob = ["fuzz_*.py"]
