"""imp2tf: imperative TensorFlow programs as dataflow graphs, equal to eager.

    import imp2tf

    @imp2tf.convert
    def step(x):
        ...

The plain function is the specification: a converted one returns, prints, mutates, raises and differentiates exactly as it does.
"""
from imp2tf.api import ConvertedFunction, convert, explain
from imp2tf.errors import ConversionError, DivergenceError

__version__ = "0.1.0"
__all__ = ["ConversionError", "ConvertedFunction", "DivergenceError", "convert", "explain"]
