"""Tests of `imp2tf.save`: programs, and a process without imp2tf that loads and calls what was saved."""
