"""A model twice: as it is with ``run_eagerly=True``, and wrapped. Everything a person could see must be the same."""
from __future__ import annotations

import contextlib
import inspect
import io
import random
import warnings
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import tensorflow as tf

import imp2tf.keras

Run = Callable[[keras.Model], Any]


def data(rows: int = 12, width: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Features and a target."""
    draw = np.random.RandomState(seed)
    x = draw.randn(rows, width).astype("float32")
    return x, (0.5 * x.sum(1, keepdims=True) + 0.1 * draw.randn(rows, 1)).astype("float32")


def fit(model: keras.Model, x: Any, y: Any = None, epochs: int = 2, **options: Any) -> dict[str, list[float]]:
    """The history of a short training."""
    history = model.fit(x, y, batch_size=4, epochs=epochs, shuffle=False, verbose=0, **options).history
    return {name: [float(one) for one in values] for name, values in sorted(history.items())}


def seen(make: Callable[[], keras.Model], run: Run, wrapped: bool, **compiled: Any) -> tuple[dict[str, Any], keras.Model]:
    """What a run shows: its result or exception, the text it prints, and the weights afterwards."""
    keras.backend.clear_session()
    keras.utils.set_random_seed(7)
    model = make()
    if wrapped:
        imp2tf.keras.wrap(model)
    options = {name: value() if inspect.isfunction(value) and value.__name__ == "<lambda>" else value for name, value in compiled.items()}
    model.compile(run_eagerly=not wrapped, **({"optimizer": "sgd", "loss": "mse", "jit_compile": False} | options))
    random.seed(3)
    np.random.seed(3)
    tf.random.set_seed(3)
    text = io.StringIO()
    found: dict[str, Any] = {}
    with contextlib.redirect_stdout(text), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found["result"] = run(model)
        except Exception as error:
            found["error"] = type(error), str(error)
    found["text"] = text.getvalue()
    found["weights"] = [np.array(one) for one in model.get_weights()]
    return found, model


def same(make: Callable[[], keras.Model], run: Run, graph: bool | str = True, **compiled: Any) -> keras.Model:
    """Compare, and return the wrapped model. `graph`: its steps run as graphs, all but the first ("train": the training steps).

    Options that are lambdas are called for each of the two models.
    """
    eager, _ = seen(make, run, wrapped=False, **compiled)
    found, model = seen(make, run, wrapped=True, **compiled)
    equal(found, eager)
    for kind, step in imp2tf.keras.stats(model).items():
        if graph is True or graph == kind:
            assert step["graph_calls"] == step["calls"] - 1, (kind, step)
    return model


def equal(found: Any, eager: Any, where: str = "") -> None:
    """Values of the same kinds, numbers up to rounding."""
    if isinstance(eager, dict):
        assert list(found) == list(eager), where
        for key in eager:
            equal(found[key], eager[key], f"{where}.{key}")
    elif isinstance(eager, (list, tuple)):
        assert len(found) == len(eager), where
        for i, pair in enumerate(zip(found, eager, strict=True)):
            equal(*pair, f"{where}[{i}]")
    elif isinstance(eager, (float, np.ndarray, np.generic, tf.Tensor)):
        np.testing.assert_allclose(np.asarray(found), np.asarray(eager), rtol=1e-4, atol=1e-5, err_msg=where)
        assert np.asarray(found).dtype == np.asarray(eager).dtype, where
    else:
        assert type(found) is type(eager) and found == eager, where
