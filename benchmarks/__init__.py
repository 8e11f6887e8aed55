"""What imp2tf costs and gains, against plain eager Python and tf.function with AutoGraph.

    python -m benchmarks --quick
"""
