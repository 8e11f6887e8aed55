"""Tests of the analyses, and a way to find what is live by trying."""
