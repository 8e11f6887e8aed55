"""``imp2tf.save``: a SavedModel that serves where imp2tf is not installed.

    imp2tf.save(f, "model", signatures=[tf.TensorSpec([None, 3])])
    ...
    tf.saved_model.load("model")(x)          # in another process, without the program

Functions are traced once more for it, without guards: Python values are those of now, and Python state that calls change lives
in variables of the model. What a graph alone cannot do is refused, with all reasons, before anything is written.
"""
from __future__ import annotations

import inspect
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import tensorflow as tf

from imp2tf.errors import NotServable
from imp2tf.export_endpoints import endpoints_of
from imp2tf.export_files import replacing
from imp2tf.export_state import State
from imp2tf.export_trace import Served, serve
from imp2tf.export_tree import Tree
from imp2tf.export_values import flat_names, result_names, unique
from imp2tf.parameters import name_of

__all__ = ["save"]

NOTES = "imp2tf.json"


def save(obj_or_fn: Any, path: str | os.PathLike[str], signatures: Any = None) -> None:
    """Save a function, an object with converted methods, or a Keras model as a SavedModel that serves without imp2tf.

        imp2tf.save(step, "model", signatures=[tf.TensorSpec([None, 3], tf.float32)])

    Args:
      obj_or_fn: a converted or plain function, a `tf.Module` or any other object with converted methods, or a Keras model or layer.
      path: the folder to write. A model that is already there is replaced in one step.
      signatures: for which arguments to save. Either kinds of arguments (`tf.TypeSpec`, nested as the arguments are), or a function, or
        a dict from names of signatures to kinds, functions or pairs ``(function, kinds)``. By default, converted functions are
        saved for their ``input_signature``, or else for the arguments of their newest graph.

    Raises:
      NotServable: serving would need Python. The attribute `reasons` lists everything that stands in the way. Nothing is written.
      ValueError: it is not known for which arguments to save, or there is no method to save.
      TypeError: `signatures`, or what it names, is of another type.
    """
    endpoints = endpoints_of(obj_or_fn, signatures)
    served, state, reasons = serve(endpoints)
    if reasons:
        raise NotServable(_name(obj_or_fn), reasons)
    tree = Tree(obj_or_fn)
    names = [name for place, labels, variables in state.variables() for name in tree.keep(place, labels, variables)]
    _hold_captures(tree, served, state)
    for attribute, group in _by_attribute(served).items():
        if attribute == "__call__" or not hasattr(tree.root, attribute):
            setattr(tree.root, attribute, _loadable(group))
    signed = {one.endpoint.signature: _signature(one) for one in served if one.endpoint.signature is not None}
    with replacing(path) as work:
        tf.saved_model.save(tree.root, str(work), signatures=signed)
        _write_notes(work, served, names)


def _name(saved: Any) -> str:
    return name_of(saved) if hasattr(saved, "__qualname__") else type(saved).__qualname__


def _by_attribute(served: Sequence[Served]) -> dict[str, list[Served]]:
    """What the loaded object has under a name: a function for one kind of arguments, or for several."""
    found: dict[str, list[Served]] = {}
    for one in served:
        own = getattr(one.endpoint.function, "__name__", "")
        for name in {one.endpoint.attribute or "", own if one.endpoint.attribute == "__call__" and own.isidentifier() else ""} - {""}:
            found.setdefault(name, []).append(one)
    return found


def _hold_captures(tree: Tree, served: Sequence[Served], state: State) -> None:
    variables: dict[int, tf.Variable] = {}
    for one in served:
        variables.update((id(variable), variable) for variable in one.concrete.graph.variables)
    kept = {id(variable) for _, _, found in state.variables() for variable in found}
    tree.hold(variables.values())
    for one in served:
        tree.hold(one.referenced)
    tree.name_variables([variable for key, variable in variables.items() if key not in kept])


# ------------------------------------------------------------------------------------------------ functions
def _loadable(group: Sequence[Served]) -> Any:
    """A function of the loaded object: with the user's parameters, structures and defaults."""
    parameters = [_passed(one) for one in group]
    signature = inspect.Signature([_shown(one) for one, _ in parameters[0]])

    def loadable(*args: Any, **kwargs: Any) -> Any:
        given = signature.bind(*args, **kwargs)
        given.apply_defaults()
        values = list(given.arguments.values())
        served = next(one for one, passed in zip(group, parameters, strict=True) if _fits([value for _, value in passed], values))
        return _result(served, [one for one in tf.nest.flatten(values, expand_composites=True) if isinstance(one, tf.Tensor)])

    loadable.__signature__ = signature  # type: ignore[attr-defined]
    loadable.__name__ = group[0].concrete.graph.name
    function = tf.function(loadable, autograph=False)
    for passed in parameters:
        positional, keywords = _unbound(passed)
        function.get_concrete_function(*positional, **keywords)
    return function


def _passed(served: Served) -> list[tuple[inspect.Parameter, Any]]:
    """The parameters that can be given to a loaded function, and for which kinds."""
    return [(one, value) for one, value in zip(served.endpoint.parameters.list, served.endpoint.values, strict=True) if _can_pass(value)]


def _unbound(passed: Sequence[tuple[inspect.Parameter, Any]]) -> tuple[list[Any], dict[str, Any]]:
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for parameter, value in passed:
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            args.extend(value)
        elif parameter.kind is inspect.Parameter.VAR_KEYWORD:
            kwargs.update(value)
        elif parameter.kind is inspect.Parameter.KEYWORD_ONLY:
            kwargs[parameter.name] = value
        else:
            args.append(value)
    return args, kwargs


def _fits(kinds: Sequence[Any], values: Sequence[Any]) -> bool:
    """Whether a function was traced for such values."""
    try:
        tf.nest.assert_same_structure(list(kinds), list(values), expand_composites=True)
    except (TypeError, ValueError):
        return False
    pairs = zip(tf.nest.flatten(list(kinds), expand_composites=True), tf.nest.flatten(list(values), expand_composites=True))
    return all(kind.is_compatible_with(value) if isinstance(kind, tf.TypeSpec) else kind == value for kind, value in pairs)


def _can_pass(value: Any) -> bool:
    """Whether an argument can be given to a loaded function: tensors and literals, and structures of them."""
    parts = tf.nest.flatten(value)
    return all(isinstance(one, (tf.TypeSpec, bool, int, float, str, bytes, type(None))) for one in parts)


def _shown(parameter: inspect.Parameter) -> inspect.Parameter:
    """A parameter as it is saved: without what only Python understands."""
    default = parameter.default if _can_pass(parameter.default) else inspect.Parameter.empty
    return parameter.replace(annotation=inspect.Parameter.empty, default=default)


def _result(served: Served, tensors: Sequence[tf.Tensor]) -> Any:
    """Call the traced graph, and put its result together."""
    outputs = iter(served.concrete(*tensors))
    flat = [None if one is None else next(outputs) for one in tf.nest.flatten(served.result, expand_composites=True)]
    return tf.nest.pack_sequence_as(served.result, flat, expand_composites=True)


def _signature(served: Served) -> Any:
    """The function behind a signature: flat tensors by name in, flat tensors by name out."""
    named = zip(served.endpoint.parameters.names, served.endpoint.values, strict=True)
    inputs = unique(pair for name, value in named for pair in flat_names(value, name))
    order = list(inputs)

    def signed(*tensors: tf.Tensor) -> dict[str, tf.Tensor]:
        return result_names(_result(served, tensors))

    signed.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(f"input_{i}", inspect.Parameter.POSITIONAL_OR_KEYWORD) for i in range(len(order))])
    signed.__name__ = served.concrete.graph.name
    specs = [tf.TensorSpec(spec.shape, spec.dtype, name=name) for name, spec in inputs.items()]
    return tf.function(signed, autograph=False, input_signature=specs)


# ------------------------------------------------------------------------------------------------ notes
def _write_notes(work: Path, served: Sequence[Served], state: Sequence[str]) -> None:
    """What was translated, for people and for tools: ``assets.extra/imp2tf.json``."""
    folder = work / "assets.extra"
    folder.mkdir(exist_ok=True)
    functions = {one.endpoint.name: {"signature": one.endpoint.signature, "outputs": one.notes} for one in served}
    (folder / NOTES).write_text(json.dumps({"functions": functions, "state": list(state)}, indent=2), encoding="utf-8")
