"""One module per Python feature: its rewrite and, beside it, its run-time operator."""
if __name__ != "imp2tf.converters":
    raise ImportError("import this package as imp2tf.converters (run: pip install -e .)")
