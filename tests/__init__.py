"""Tests of imp2tf: differential programs, their harness, golden rewrites."""
