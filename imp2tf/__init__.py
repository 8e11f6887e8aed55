"""imp2tf: imperative TensorFlow programs as dataflow graphs, equal to eager.

    import imp2tf

    @imp2tf.convert
    def step(x):
        ...

The plain function is the specification: a converted one returns, prints, mutates, raises and differentiates exactly as it does.
"""
from imp2tf.api import ConvertedFunction, convert, explain
from imp2tf.disabled import disable
from imp2tf.distribution import install
from imp2tf.errors import ConversionError, DivergenceError
from imp2tf.export import save
from imp2tf.stance import set_stance
from imp2tf.substitution import substitute

install()

__version__ = "0.1.0"
__all__ = ["ConversionError", "ConvertedFunction", "DivergenceError", "convert", "disable", "explain",
           "save", "set_stance", "substitute"]
