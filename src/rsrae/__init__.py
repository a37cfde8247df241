"""Unsupervised anomaly detection for data that is already dirty."""

__version__ = "0.1.0"
