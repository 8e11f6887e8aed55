"""Keras models whose ``fit``, ``evaluate`` and ``predict`` give what ``run_eagerly=True`` gives, at the speed of graphs.

    model = imp2tf.keras.wrap(keras.Sequential([Gate(), keras.layers.Dense(1)]))
    model.compile("sgd", "mse")
    model.fit(x, y)

Keras 3 does not convert Python control flow. A wrapped model is the same object with the same layers. Only the functions that run its
steps are replaced: they run graphs that behave as the plain Python of the step.
"""
try:
    from imp2tf.keras.wrapping import is_wrapped, stats, unwrap, wrap, wrapping
except (ImportError, AttributeError) as _error:  # a version of Keras that `private` does not know
    from imp2tf.keras import public
    from imp2tf.keras.public import is_wrapped, stats, unwrap, wrap, wrapping

    public.tell(_error)

__all__ = ["is_wrapped", "stats", "unwrap", "wrap", "wrapping"]
