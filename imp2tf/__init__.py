"""Imperative TensorFlow programs as dataflow graphs, equal to eager."""
