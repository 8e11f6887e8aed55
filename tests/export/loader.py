"""Loads saved models and evaluates expressions on them, in a process that cannot import imp2tf or the program.

    python -I loader.py request.json answers.json

A request is a list of [name, path, expressions]; `m` is the loaded object in an expression. Expressions run in order; an answer is
the plain form of each result, or the class and text of what was raised.
"""

import collections
import json
import sys

import tensorflow as tf

Point = collections.namedtuple("Point", ["x", "y"])


def plain(value):
    """A result without classes of TensorFlow: numbers, text, lists and dicts."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if hasattr(value, "_fields"):
        return {name: plain(item) for name, item in zip(value._fields, value)}
    if isinstance(value, (list, tuple)) or type(value).__name__ in ("ListWrapper", "_TupleWrapper"):
        return [plain(item) for item in value]
    if isinstance(value, tf.RaggedTensor):
        return plain(value.to_list())
    if isinstance(value, tf.sparse.SparseTensor):
        return plain(tf.sparse.to_dense(value))
    found = value.numpy()
    return plain(found.tolist() if hasattr(found, "tolist") else found)


def gradients(call, *variables):
    """The gradients of the sum of what a call returns."""
    with tf.GradientTape() as tape:
        for variable in variables:
            tape.watch(variable)
        result = tf.reduce_sum(call())
    return tape.gradient(result, list(variables), unconnected_gradients=tf.UnconnectedGradients.ZERO)


def signed(m, signature, **inputs):
    """A call under a signature; text gives the outputs in the order of their names."""
    return m.signatures[signature](**inputs)


def evaluate(expression, m):
    """The plain form of a result, or what was raised."""
    names = {"m": m, "tf": tf, "Point": Point, "gradients": gradients, "signed": signed}
    try:
        return {"value": plain(eval(expression, names))}
    except Exception as error:
        return {"raised": type(error).__name__, "text": str(error)}


def main(request, answers):
    """Answer all requests."""
    sys.modules["imp2tf"] = None  # an import of it raises ImportError
    with open(request) as file:
        wanted = json.load(file)
    found = {}
    for name, path, expressions in wanted:
        loaded = tf.saved_model.load(path)
        found[name] = [evaluate(one, loaded) for one in expressions]
    with open(answers, "w") as file:
        json.dump(found, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
