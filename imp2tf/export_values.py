"""What a served function returns: everything as tensors.

| Python | served |
|---|---|
| a tensor, ragged or sparse tensor, a variable | itself, its value |
| an int, float, bool, str, bytes | an int64, float64, bool or string scalar |
| an array of NumPy | a tensor of its dtype |
| a tuple, named tuple, list, dict with text keys | the same, of tensors |
| a list whose length only the run knows | its elements, stacked |
| None | None; it is left out of signatures |
| one of several constants | the text of the one chosen, see `text_of` |
| one of several numbers | an int64, or float64 if one of them is a float |
| a number or a tensor | a tensor of the tensor's dtype |
| one of several structures that are alike | the structure, part by part |
| a number, tensor or structure, or None | as without None; where it is None, the call fails |

Anything else is an object of Python, and is refused.
"""
from __future__ import annotations

import dataclasses
import enum
import functools
import itertools
import types
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from imp2tf.errors import Contents, ConversionError, LostValue, NeedsValue, SeveralKinds, UnsupportedSyntax
from imp2tf.heap import contents
from imp2tf.kinds import is_container
from imp2tf.session import current
from imp2tf.specs import Dense, Number
from imp2tf.stacked_lists import StackedList
from imp2tf.values import DEAD, LOST, Deferred, Growable, PyNumber, StandIn, Union, number_kind

__all__ = ["Lowering", "flat_names", "result_names", "text_of", "unique"]

DTYPES = {"int": tf.int64, "float": tf.float64, "bool": tf.bool}


def text_of(value: Any) -> str | bytes | None:
    """The text that stands for a constant which a served function returns, None for what is no constant of that sort.

    Text stands for itself, None and numbers as Python writes them, members of an enum by their names, functions and classes by
    theirs, dtypes by theirs.
    """
    if isinstance(value, (str, bytes)) and not isinstance(value, enum.Enum):
        return value
    if isinstance(value, enum.Enum):
        return value.name
    if value is None or isinstance(value, (bool, int, float)):
        return repr(value)
    if isinstance(value, (type, types.FunctionType, types.BuiltinFunctionType)):
        return value.__qualname__
    return value.name if isinstance(value, tf.DType) else None


@dataclasses.dataclass
class Lowering:
    """Lowers the result of one function; what cannot be lowered is noted in `refused`, what was translated in `notes`."""

    refused: list[ConversionError] = dataclasses.field(default_factory=list)
    notes: dict[str, str] = dataclasses.field(default_factory=dict)

    def result(self, value: Any) -> Any:
        """The result of a call as a structure of tensors."""
        found = contents(value) if is_container(value) else value
        return self.of(value, _prefix(found))

    def of(self, value: Any, path: str) -> Any:
        """A part of the result, which signatures call `path`."""
        kind = number_kind(value)
        if kind is not None:
            return self._noted(path, kind, value.tensor if isinstance(value, PyNumber) else tf.constant(value, DTYPES[kind]))
        if isinstance(value, tf.Variable):
            return tf.convert_to_tensor(value)
        if value is None or isinstance(value, (tf.Tensor, tf.__internal__.CompositeTensor)):
            return value if value is None else tf.nest.map_structure(tf.identity, value, expand_composites=True)
        if isinstance(value, (np.ndarray, np.generic)):
            return tf.constant(value)
        if isinstance(value, Union):
            return self._one_of(value, path)
        if isinstance(value, tuple):
            parts = [self.of(item, _joined(path, name)) for name, item in zip(getattr(value, "_fields", range(len(value))), value)]
            return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
        if is_container(value):
            return self._container(contents(value), path)
        text = text_of(value)
        return self._noted(path, "text", tf.constant(text)) if text is not None else self._refuse(value, path)

    def _noted(self, path: str, note: str, tensor: tf.Tensor) -> tf.Tensor:
        self.notes[path] = note
        return tensor

    def _container(self, found: Any, path: str) -> Any:
        if isinstance(found, Growable):
            return self._stacked(found, path)
        if isinstance(found, (Union, set)):
            return self._no(Contents("a set, or a container of unknown keys or length, is returned"), path)
        if isinstance(found, dict):
            if not all(isinstance(key, str) for key in found):
                return self._no(Contents("a dict whose keys are no text is returned"), path)
            return {key: self.of(item, _joined(path, key)) for key, item in found.items()}
        return [self.of(item, _joined(path, i)) for i, item in enumerate(found)]

    def _stacked(self, found: Growable, path: str) -> Any:
        element = found.element
        if not isinstance(element, (Dense, Number)):
            return self._no(Contents("a list of run-time length is returned whose elements are no tensors of one dtype"), path)
        return self._noted(path, "list", StackedList(found).stack())

    # ------------------------------------------------------------------------------------ one of several
    def _one_of(self, value: Union, path: str) -> Any:
        numbered = [(i, one) for i, one in enumerate(value.alternatives) if one is not DEAD]
        some = [(i, one) for i, one in numbered if one is not None]
        dtypes = {one.dtype for _, one in some if isinstance(one, tf.Tensor)}
        kinds = {number_kind(one) for _, one in some if not isinstance(one, tf.Tensor)}
        if len(dtypes) <= 1 and kinds <= {"int", "float", "bool"}:
            dtype = next(iter(dtypes), tf.float64 if "float" in kinds else tf.int64)
            note = "number or tensor" if dtypes else "one of several numbers"
            return self._noted(path, note, self._chosen(value.tag, some, dtype, len(some) < len(numbered)))
        texts = {i: text_of(one) for i, one in numbered}
        if all(text is not None for text in texts.values()):
            table = [texts.get(i) or "" for i in range(len(value.alternatives))]
            return self._noted(path, f"one of {sorted(map(str, texts.values()))}", tf.gather(tf.constant(table), value.tag))
        if some and all(isinstance(one, tuple) or is_container(one) for _, one in some):
            return self._structures(value.tag, some, len(some) < len(numbered), path)
        shown = ", ".join(type(one).__name__ for _, one in numbered)
        return self._no(SeveralKinds(f"one of several kinds of values ({shown}) is returned"), path)

    def _structures(self, tag: tf.Tensor, numbered: list[tuple[int, Any]], maybe_none: bool, path: str) -> Any:
        """One of several structures, part by part where they are alike."""
        lowered = [self.of(one, path) for _, one in numbered]
        flat = [tf.nest.flatten(one) for one in lowered]
        kinds = {tuple(getattr(part, "dtype", None) for part in parts) for parts in flat}
        if len(kinds) > 1 or not all(_is_alike(one, lowered[0]) for one in lowered):
            return self._no(SeveralKinds("one of several structures is returned"), path)
        parts = [self._chosen(tag, [(i, one[k]) for (i, _), one in zip(numbered, flat)], flat[0][k].dtype, maybe_none)
                 if isinstance(flat[0][k], tf.Tensor) else flat[0][k] for k in range(len(flat[0]))]
        return tf.nest.pack_sequence_as(lowered[0], parts)

    def _chosen(self, tag: tf.Tensor, numbered: list[tuple[int, Any]], dtype: tf.DType, maybe_none: bool) -> tf.Tensor:
        """The one that is there; where None is, the call fails: nothing in a signature stands for it."""
        branches = {i: functools.partial(_as_dtype, one, dtype) for i, one in numbered}
        checks = []
        if maybe_none:
            there = tf.reduce_any(tf.equal(tag, list(branches)))
            checks = [tf.raw_ops.Assert(condition=there, data=["None is returned, for which no tensor stands"], summarize=1)]
        with tf.control_dependencies(checks):
            if len(branches) == 1:
                return tf.identity(next(iter(branches.values()))())
            return tf.switch_case(tag, branches, default=branches[numbered[-1][0]])

    # ------------------------------------------------------------------------------------ what cannot be served
    def _refuse(self, value: Any, path: str) -> None:
        if value is LOST and current().refused:
            return None  # the result of a call that was refused before
        if isinstance(value, Deferred):
            return self._no(NeedsValue(f"{value!r}, which Python makes, is returned"), path)
        if isinstance(value, StandIn):
            return self._no(UnsupportedSyntax(f"{value.what} is returned"), path)
        return self._no(LostValue(f"a {type(value).__name__}, an object of Python, is returned"), path)

    def _no(self, error: ConversionError, path: str) -> None:
        if path != "output_0":
            error.reason += f" as {path!r}"
        self.refused.append(error)


def _is_alike(a: Any, b: Any) -> bool:
    try:
        tf.nest.assert_same_structure(a, b)
    except (TypeError, ValueError):
        return False
    return True


def _as_dtype(value: Any, dtype: tf.DType) -> tf.Tensor:
    return tf.cast(value.tensor if isinstance(value, PyNumber) else value, dtype)


def _joined(path: str, key: Any) -> str:
    return f"{path}_{key}" if path else str(key)


def _prefix(result: Any) -> str:
    """What the names of the tensors in a result begin with."""
    if isinstance(result, dict) or hasattr(result, "_fields"):
        return ""
    return "output" if isinstance(result, (list, tuple)) else "output_0"


def result_names(structure: Any) -> dict[str, tf.Tensor]:
    """The tensors of a lowered result by the names that signatures give them."""
    return unique(flat_names(structure, _prefix(structure)))


def unique(named: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """A dict of what is named, with a number behind a name that is taken."""
    found: dict[str, Any] = {}
    for name, value in named:
        free = next(one for one in itertools.chain([name], (f"{name}_{i}" for i in itertools.count(1))) if one not in found)
        found[free] = value
    return found


def flat_names(structure: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Each tensor (or spec of one) of a structure, with the name that signatures give it: keys and positions, joined by ``_``.

    A spec may have a name of its own. Components of ragged and sparse tensors are named each; None is left out.
    """
    if isinstance(structure, tuple) and hasattr(structure, "_fields"):
        structure = dict(zip(structure._fields, structure, strict=True))
    if isinstance(structure, (list, tuple)):
        structure = dict(enumerate(structure))
    if isinstance(structure, dict):
        for key in sorted(structure):  # as tf.nest takes dicts apart
            yield from flat_names(structure[key], _joined(name, key))
    elif isinstance(structure, tf.Tensor):
        yield name, structure
    elif isinstance(structure, tf.TensorSpec):
        yield structure.name or name, structure
    elif isinstance(structure, (tf.TypeSpec, tf.__internal__.CompositeTensor)):
        parts = tf.nest.flatten(structure, expand_composites=True)
        yield from ((_joined(name, label), part) for label, part in zip(_component_names(structure, len(parts)), parts))


def _component_names(composite: Any, count: int) -> list[str]:
    if isinstance(composite, (tf.RaggedTensor, tf.RaggedTensorSpec)):
        return ["values", *(f"row_splits_{i}" for i in range(count - 1))]
    if isinstance(composite, (tf.SparseTensor, tf.SparseTensorSpec)):
        return ["indices", "values", "dense_shape"]
    return [str(i) for i in range(count)]
