"""Every layer that Keras exports gives in a wrapped model what it gives in an unwrapped one."""
from __future__ import annotations

import inspect
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import imp2tf.keras
from tests.keras.compared import equal

pytestmark = pytest.mark.slow

LAYERS = keras.layers
FLAT, LINE, IMAGE, VOLUME, FILM = (4, 6), (2, 8, 3), (2, 8, 8, 3), (2, 4, 4, 4, 3), (2, 3, 6, 6, 2)
WORDS = np.array([["a b"], ["b c"]])
PICTURE = {"seed": 1}

# How a layer is made and what it is given, where that is not `{}` and the shape of `shape_of`: options, and a shape or the data.
SPECIAL: dict[str, tuple[dict[str, Any], Any]] = {
    "Activation": ({"activation": "tanh"}, FLAT),
    "AdditiveAttention": ({}, [LINE, LINE]), "Attention": ({}, [LINE, LINE]),
    "AugMix": (PICTURE, IMAGE), "Bidirectional": ({"layer": lambda: LAYERS.LSTM(2)}, LINE),
    "CategoryEncoding": ({"num_tokens": 4}, np.array([[0, 1], [2, 3]])), "CenterCrop": ({"height": 4, "width": 4}, IMAGE),
    "CutMix": (PICTURE, {"images": IMAGE, "labels": (2, 3)}), "MixUp": (PICTURE, {"images": IMAGE, "labels": (2, 3)}),
    "Discretization": ({"bin_boundaries": [-1.0, 0.0, 1.0]}, FLAT), "Dot": ({"axes": 1}, [FLAT, FLAT]),
    "EinsumDense": ({"equation": "ab,bc->ac", "output_shape": 3}, FLAT),
    "Embedding": ({"input_dim": 5, "output_dim": 3}, np.array([[0, 1], [2, 3]])),
    "ReversibleEmbedding": ({"input_dim": 5, "output_dim": 3}, np.array([[0, 1], [2, 3]])),
    "GroupNormalization": ({"groups": 3}, IMAGE),
    "GroupQueryAttention": ({"head_dim": 2, "num_query_heads": 2, "num_key_value_heads": 1}, [LINE, LINE]),
    "HashedCrossing": ({"num_bins": 5}, [np.array([1, 2]), np.array([3, 4])]), "Hashing": ({"num_bins": 5}, np.array([[1], [2]])),
    "IntegerLookup": ({"vocabulary": [1, 2, 3]}, np.array([[1], [7]])), "StringLookup": ({"vocabulary": ["a b", "c"]}, WORDS),
    "TextVectorization": ({"vocabulary": ["a", "b"]}, WORDS), "Lambda": ({"function": tf.math.square}, FLAT),
    "Masking": ({}, LINE), "MelSpectrogram": ({"fft_length": 16, "num_mel_bins": 4}, (2, 64)),
    "STFTSpectrogram": ({"frame_length": 8, "frame_step": 4, "fft_length": 8}, (2, 64, 1)),
    "MultiHeadAttention": ({"num_heads": 2, "key_dim": 2}, [LINE, LINE]), "Normalization": ({"mean": 0.5, "variance": 2.0}, FLAT),
    "Permute": ({"dims": (2, 1)}, LINE), "Pipeline": ({"layers": lambda: [LAYERS.Rescaling(2.0), LAYERS.Resizing(4, 4)]}, IMAGE),
    "RNN": ({"cell": lambda: LAYERS.StackedRNNCells([LAYERS.LSTMCell(2), LAYERS.GRUCell(2)])}, LINE),
    "RepeatVector": ({"n": 2}, FLAT), "Rescaling": ({"scale": 2.0, "offset": 1.0}, FLAT), "Reshape": ({"target_shape": (3, 2)}, FLAT),
    "Resizing": ({"height": 4, "width": 5}, IMAGE), "SpectralNormalization": ({"layer": lambda: LAYERS.Dense(3)}, FLAT),
    "TimeDistributed": ({"layer": lambda: LAYERS.Dense(2)}, LINE), "BatchNormalization": ({}, FLAT), "Softmax": ({}, FLAT),
    "RandomCrop": ({"height": 4, "width": 4, "seed": 1}, IMAGE), "RandAugment": (PICTURE, IMAGE),
    "Solarization": ({"seed": 1}, IMAGE), "AutoContrast": ({}, IMAGE), "Equalization": ({}, IMAGE),
    "ContrastLimitedAdaptiveHistogramEqualization": ({}, IMAGE),
    "RandomBrightness": ({"factor": 0.3, "seed": 1}, IMAGE), "RandomContrast": ({"factor": 0.3, "seed": 1}, IMAGE),
    "RandomRotation": ({"factor": 0.3, "seed": 1}, IMAGE), "RandomZoom": ({"height_factor": 0.3, "seed": 1}, IMAGE),
    "RandomTranslation": ({"height_factor": 0.3, "width_factor": 0.2, "seed": 1}, IMAGE), "RandomHue": ({"factor": 0.3, "seed": 1}, IMAGE),
    "RandomSaturation": ({"factor": 0.3, "seed": 1}, IMAGE), "RandomSharpness": ({"factor": 0.3, "seed": 1}, IMAGE),
    "RandomPosterization": ({"factor": 4, "seed": 1}, IMAGE), "RandomColorDegeneration": ({"factor": 0.3, "seed": 1}, IMAGE),
    "RandomGrayscale": ({"factor": 0.5, "seed": 1}, IMAGE), "RandomShear": ({"x_factor": 0.3, "seed": 1}, IMAGE),
    "Dropout": ({"rate": 0.4, "seed": 1}, FLAT), "AlphaDropout": ({"rate": 0.4, "seed": 1}, FLAT),
    "GaussianDropout": ({"rate": 0.4, "seed": 1}, FLAT), "GaussianNoise": ({"stddev": 0.4, "seed": 1}, FLAT),
}
# Not layers by themselves, wrappers of other frameworks, or made for data that no model takes.
NOT_BY_THEMSELVES = {
    "FlaxLayer", "GRUCell", "InputLayer", "JaxLayer", "LSTMCell", "Layer", "MaxNumBoundingBoxes", "SimpleRNNCell", "StackedRNNCells",
    "TFSMLayer", "TorchModuleWrapper", "Wrapper",
}
MERGING = {"Add", "Average", "Concatenate", "Maximum", "Minimum", "Multiply", "Subtract"}


def names() -> list[str]:
    """One name for each class."""
    found: dict[type, str] = {}
    for name in sorted(vars(LAYERS)):
        cls = getattr(LAYERS, name)
        if isinstance(cls, type) and issubclass(cls, keras.Layer) and name not in NOT_BY_THEMSELVES:
            found.setdefault(cls, cls.__name__ if hasattr(LAYERS, cls.__name__) else name)
    return sorted(found.values())


def made_with(name: str) -> tuple[dict[str, Any], Any]:
    """Options of a layer, and a shape, shapes or data for it."""
    if name in SPECIAL:
        return SPECIAL[name]
    if name in MERGING:
        return {}, [FLAT, FLAT]
    options: dict[str, Any] = {}
    if "Conv" in name:
        options = {"kernel_size": 2} if "Depthwise" in name else {"filters": 2, "kernel_size": 2}
    elif name.startswith("Adaptive"):
        options = {"output_size": 2}
    elif name.startswith("AveragePooling"):
        options = {"pool_size": 2}
    elif name in ("Dense", "LSTM", "GRU", "SimpleRNN"):
        options = {"units": 2}
    elif name.startswith("SpatialDropout"):
        options = {"rate": 0.4, "seed": 1}
    elif name.startswith("Random"):
        options = PICTURE
    return options, shape_of(name)


def shape_of(name: str) -> Any:
    """The shape that the name of a class tells."""
    if name.startswith("ConvLSTM"):
        return {"1": (2, 3, 6, 2), "2": FILM, "3": (2, 3, 4, 4, 4, 2)}[name[-2]]
    for mark, shape in (("1D", LINE), ("2D", IMAGE), ("3D", VOLUME)):
        if mark in name:
            return shape
    if name.startswith("Random"):
        return IMAGE
    return LINE if name in ("LSTM", "GRU", "SimpleRNN", "UnitNormalization") else FLAT


def values(described: Any, draw: np.random.RandomState) -> Any:
    """Data of a shape, or as it was given."""
    if isinstance(described, dict):
        return {key: values(one, draw) for key, one in described.items()}
    if isinstance(described, list):
        return [values(one, draw) for one in described]
    return tf.constant(draw.rand(*described).astype("float32") if isinstance(described, tuple) else described)


class Holder(keras.Model):
    """A model of one layer, called as `MultiHeadAttention` and the like want it."""

    def __init__(self, layer: keras.Layer) -> None:
        super().__init__()
        self.layer = layer
        self.asks_for_training = "training" in inspect.signature(layer.call).parameters

    def call(self, data: Any, training: bool = False) -> Any:
        options = {"training": training} if self.asks_for_training else {}
        if isinstance(self.layer, (LAYERS.MultiHeadAttention, LAYERS.GroupQueryAttention)):
            return self.layer(*data, **options)
        return self.layer(data, **options)


def outputs(name: str, wrapped: bool) -> tuple[Any, Holder]:
    """What two calls of a layer give, and what they leave in its variables."""
    options, described = made_with(name)
    keras.backend.clear_session()
    keras.utils.set_random_seed(5)
    made = {key: value() if getattr(value, "__name__", "") == "<lambda>" else value for key, value in options.items()}
    layer = getattr(LAYERS, name)(**made)
    model = Holder(layer)
    if wrapped:
        imp2tf.keras.wrap(model)
    data = values(described, np.random.RandomState(1))
    tf.random.set_seed(5)
    if name == "RandAugment":
        layer._AUGMENT_LAYERS.sort()  # which Keras 3.10 and older shuffle for the whole class
    if name == "Normalization":
        layer(data)  # built by a call of a model, Keras keeps tensors of a graph in it
    model(data)
    found = [keras.tree.flatten(model(data, training=training)) for training in (True, True)]
    return [[_plain(one) for one in row] for row in found] + [[np.array(one) for one in model.variables]], model


def _plain(value: Any) -> Any:
    return value.numpy() if isinstance(value, tf.Tensor) else value.to_list() if isinstance(value, tf.RaggedTensor) else value


def test_there_are_at_least_a_hundred() -> None:
    assert len(names()) >= 100


@pytest.mark.parametrize("name", names())
def test_layer(name: str) -> None:
    plain, _ = outputs(name, wrapped=False)
    found, model = outputs(name, wrapped=True)
    equal([[_text(one) for one in row] for row in found], [[_text(one) for one in row] for row in plain])
    assert imp2tf.keras.stats(model)["call"]["calls"] >= 2


def _text(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) and value.dtype == object else value
