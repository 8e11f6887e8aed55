"""Wrapped Keras models against the same models run eagerly."""
