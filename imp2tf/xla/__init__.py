"""Graphs compiled by XLA where that computes what TensorFlow's own kernels compute, and is faster."""
