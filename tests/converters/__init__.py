"""Tests of the converters, one file for each."""
