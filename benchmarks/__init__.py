"""Benchmarks: we and our peers on the same work, in turn, in one run. ``python -m benchmarks --help``."""
