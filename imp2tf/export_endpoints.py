"""Which functions are saved, and for what kinds of arguments.

Kinds come, first match wins, from what `signatures` says, from the function's ``input_signature``, and from the graph that was
traced last. `signatures` may be

- kinds: a `tf.TypeSpec`, a sequence of them (nested as the arguments are), or a dict of them by parameter: for the saved function;
- a function, or a ConcreteFunction of one: served as ``serving_default``;
- a dict from names of signatures to kinds, functions, or pairs ``(function, kinds)``.
"""
from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import tensorflow as tf

from imp2tf.converted_function import BoundFunction, ConvertedFunction
from imp2tf.export_trace import Endpoint
from imp2tf.parameters import Parameters, name_of
from imp2tf.trace import OTHER

__all__ = ["endpoints_of"]

DEFAULT = "serving_default"
CONVERTED = (ConvertedFunction, BoundFunction)
ROUTINES = (types.FunctionType, types.MethodType, types.BuiltinFunctionType)


def is_function(value: Any) -> bool:
    """Whether what is saved is a function, rather than an object with methods."""
    return isinstance(value, (*CONVERTED, *ROUTINES, tf.types.experimental.Callable)) or hasattr(value, "func")


def is_model(value: Any) -> bool:
    """Whether a value is a Keras model or layer."""
    return type(value).__module__.startswith("keras.") or any(cls.__module__.startswith("keras.src") for cls in type(value).__mro__)


def endpoints_of(saved: Any, signatures: Any) -> list[Endpoint]:
    """What is saved of a function or object. Raises ValueError where its kinds of arguments are not known."""
    found = list(_explicit(saved, signatures)) if signatures is not None else []
    named = {_identity(one.function) for one in found}
    if not is_function(saved):
        found.extend(one for one in _methods(saved, alone=not found) if _identity(one.function) not in named)
    elif not found:
        found = [_endpoint(saved, None, DEFAULT, attribute="__call__")]
    if not found:
        raise ValueError(f"nothing to serve: no method of {type(saved).__name__} is converted and has an input_signature or was called; "
                         "say what to serve by signatures={'serving_default': (method, [tf.TensorSpec(...)])}")
    return found


def _identity(function: Any) -> tuple[int, ...]:
    return (id(getattr(function, "__func__", function)), id(getattr(function, "__self__", None)))


# ------------------------------------------------------------------------------------------------ what the user says
def _explicit(saved: Any, signatures: Any) -> Iterator[Endpoint]:
    if _is_kinds(signatures) or (isinstance(signatures, Mapping) and _are_parameters(saved, signatures)):
        yield _endpoint(_callable(saved), signatures, DEFAULT, attribute="__call__")
    elif isinstance(signatures, Mapping):
        for name, wanted in signatures.items():
            yield _named(saved, str(name), wanted)
    else:
        yield _named(saved, DEFAULT, signatures)


def _named(saved: Any, name: str, wanted: Any) -> Endpoint:
    if isinstance(wanted, tuple) and len(wanted) == 2 and callable(wanted[0]):
        return _endpoint(wanted[0], wanted[1], name, attribute=_attribute(saved, wanted[0]))
    if _is_kinds(wanted) or isinstance(wanted, Mapping):
        return _endpoint(_callable(saved), wanted, name, attribute="__call__")
    if callable(wanted):
        return _endpoint(wanted, None, name, attribute=_attribute(saved, wanted))
    raise TypeError(f"signature {name!r} must be kinds of arguments, a function, or a pair of both, not {type(wanted).__name__}")


def _callable(saved: Any) -> Any:
    if not callable(saved):
        raise TypeError(f"a {type(saved).__name__} is not callable: say which method to serve by signatures={{name: (method, kinds)}}")
    return saved if is_function(saved) or is_model(saved) else type(saved).__call__.__get__(saved)


def _attribute(saved: Any, function: Any) -> str | None:
    """The name that a function has as an attribute of what is saved."""
    origin = getattr(function, "__imp2tf_call__", function)
    name = getattr(origin, "__name__", None)
    if origin is saved or getattr(origin, "__self__", None) is not saved:
        return "__call__" if origin is saved else name
    return name


def _is_kinds(value: Any) -> bool:
    """Whether a value says what a function is called with, rather than which function."""
    if isinstance(value, tuple):
        return not (value and callable(value[0]))
    return isinstance(value, (list, tf.TypeSpec, tf.Tensor))


def _are_parameters(saved: Any, kinds: Mapping[Any, Any]) -> bool:
    if not callable(saved) or not kinds:
        return False
    return set(kinds) <= set(Parameters(saved.call if is_model(saved) else _plain(_callable(saved))).names)


# ------------------------------------------------------------------------------------------------ one function
def _endpoint(function: Any, kinds: Any, signature: str | None, attribute: str | None) -> Endpoint:
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = {}
    call = getattr(function, "__imp2tf_call__", None)
    if call is not None:
        (args, kwargs), function = function.structured_input_signature, call
    elif isinstance(kinds, Mapping):
        kwargs = dict(kinds)
    elif kinds is not None:
        args = tuple(kinds) if isinstance(kinds, (list, tuple)) else (kinds,)
    if is_model(function):
        return model_endpoint(function, signature, (args, kwargs) if kinds is not None else None)
    plain = _plain(function)
    parameters = Parameters(plain)
    if call is None and kinds is None:
        values = _known_kinds(function, parameters)
    else:
        values = parameters.bind(*args, **kwargs)
    return Endpoint(plain, parameters, tuple(map(_as_kind, values)), name_of(plain), signature, attribute)


def _as_kind(value: Any) -> Any:
    """Tensors among the arguments stand for their kind."""
    return tf.nest.map_structure(lambda one: tf.TensorSpec.from_tensor(one) if isinstance(one, tf.Tensor) else one, value)


def _plain(function: Any) -> Callable[..., Any]:
    """The user's own function."""
    if isinstance(function, CONVERTED):
        return function.__imp2tf_function__
    plain = getattr(function, "python_function", function)
    bound = getattr(plain, "__wrapped__", None)
    owner = getattr(getattr(bound, "__self__", None), "target", None)  # a tf.function as a method holds its object weakly
    return types.MethodType(bound.__func__, owner) if isinstance(bound, types.MethodType) and owner is not None else plain


def _known_kinds(function: Any, parameters: Parameters) -> Sequence[Any]:
    """What a converted function, or a tf.function, is known to be called with."""
    owner = [function.__self__] if isinstance(function, BoundFunction) else []
    converted = function.__func__ if isinstance(function, BoundFunction) else function
    if isinstance(converted, ConvertedFunction):
        dispatcher = converted._dispatcher
        if dispatcher.signature is not None:
            return _declared(dispatcher.signature.places, len(owner), parameters)
        for traced in (*(graph.kinds for graph in dispatcher.graphs), dispatcher.seen or [OTHER] * (len(owner) + 1)):
            kinds = traced[len(owner):]
            if not any(part is OTHER for part in tf.nest.flatten(kinds)):
                return kinds
    specs = getattr(function, "input_signature", None)
    if specs is not None:
        return parameters.bind(*specs)
    if not parameters.names:
        return []
    raise ValueError(f"{name_of(function)} has no input_signature and was not called yet: give its kinds of arguments, as in "
                     "imp2tf.save(f, path, signatures=[tf.TensorSpec([None, 3])])")


def _declared(places: dict[int, Any], skipped: int, parameters: Parameters) -> list[Any]:
    values = [one.default for one in parameters.list]
    for place, spec in places.items():
        values[place - skipped] = spec
    empty: dict[Any, Any] = {inspect.Parameter.VAR_POSITIONAL: (), inspect.Parameter.VAR_KEYWORD: {}}
    return [empty.get(one.kind, value) if value is inspect.Parameter.empty else value
            for one, value in zip(parameters.list, values, strict=True)]


# ------------------------------------------------------------------------------------------------ objects
def _methods(saved: Any, alone: bool) -> list[Endpoint]:
    """The converted methods of an object whose kinds are known; `alone` if nothing else is served."""
    if is_model(saved):
        return [model_endpoint(saved, DEFAULT)] if alone else []
    found: list[Endpoint] = []
    for name, method in _candidates(saved):
        try:
            endpoint = _endpoint(method, None, name if alone else None, attribute=name)
        except ValueError:  # its kinds are not known
            continue
        found.append(endpoint)
    if not alone:
        return found
    default = next((one for one in found if one.attribute == "__call__"), found[0] if len(found) == 1 else None)
    return [Endpoint(one.function, one.parameters, one.values, one.name, DEFAULT if one is default else one.signature, one.attribute)
            for one in found]


def _candidates(saved: Any) -> Iterator[tuple[str, Any]]:
    names = dict.fromkeys([*(name for cls in type(saved).__mro__ for name in vars(cls)), *getattr(saved, "__dict__", ())])
    for name in names:
        found = inspect.getattr_static(saved, name, None)
        function = found.__func__ if isinstance(found, (staticmethod, classmethod)) else found
        if isinstance(function, (ConvertedFunction, tf.types.experimental.PolymorphicFunction)):
            yield name, getattr(saved, name)


# ------------------------------------------------------------------------------------------------ Keras
def model_endpoint(model: Any, signature: str | None, kinds: tuple[Any, Any] | None = None) -> Endpoint:
    """A Keras model's call, for batches of any size, not in training."""
    parameters = Parameters(model.call)
    args, kwargs = kinds or ((_model_inputs(model),), {})
    bound = dict(zip(parameters.names, parameters.bind(*args, **kwargs), strict=True))
    if "training" in bound and "training" not in kwargs:
        bound["training"] = False
    given = [one for one in parameters.list if one.name == "training" or _holds_specs(bound[one.name])]
    parameters.restrict([given[0], *(_by_keyword(one, bound[one.name]) for one in given[1:])])
    return Endpoint(model, parameters, tuple(_as_kind(bound[name]) for name in parameters.names), model.name, signature, "__call__")


def _by_keyword(parameter: inspect.Parameter, value: Any) -> inspect.Parameter:
    default = inspect.Parameter.empty if _holds_specs(value) else value
    return parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, default=default)


def _holds_specs(value: Any) -> bool:
    return any(isinstance(one, (tf.TypeSpec, tf.Tensor)) for one in tf.nest.flatten(value))


def _model_inputs(model: Any) -> Any:
    tensors = getattr(model, "inputs", None)
    if tensors:
        struct = getattr(model, "input", tensors[0] if len(tensors) == 1 else tensors)
        return tf.nest.map_structure(lambda one: tf.TensorSpec([None, *one.shape[1:]], one.dtype, one.name), struct)
    shapes = model.get_build_config() or {}
    if "input_shape" not in shapes:
        raise ValueError(f"the model {model.name} has not been called yet: call it once, or give signatures=[tf.TensorSpec(...)]")
    dtype = getattr(model, "input_dtype", None) or "float32"
    return _shapes_as_specs(shapes["input_shape"], dtype)


def _shapes_as_specs(shape: Any, dtype: Any) -> Any:
    if isinstance(shape, Mapping):
        return {key: _shapes_as_specs(one, dtype) for key, one in shape.items()}
    if all(one is None or isinstance(one, int) for one in shape):
        return tf.TensorSpec([None, *shape[1:]], dtype)
    return type(shape)(_shapes_as_specs(one, dtype) for one in shape)
