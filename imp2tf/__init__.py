"""imp2tf: imperative TensorFlow programs as dataflow graphs, equal to eager.

    import imp2tf

    @imp2tf.convert
    def step(x):
        ...

The plain function is the specification: a converted one returns, prints, mutates, raises and differentiates exactly as it does. What
cannot be a graph runs as Python, and ``step.stats()`` says why.

- `convert` converts a function; `explain` reports on one call; `ConvertedFunction` is what `convert` returns.
- `disable` and `substitute` say how graphs treat functions that they cannot look into.
- `set_stance` switches all converted functions to plain Python, or compares the two.
- `save` writes a SavedModel. `imp2tf.keras` (imported separately) wraps whole Keras models.
- `ConversionError` says what cannot be a graph; `DivergenceError` is raised by the stance "verify".
"""
from imp2tf.api import convert, explain
from imp2tf.converted_function import ConvertedFunction
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
