"""Methods of lists, dicts, sets and deques."""
from __future__ import annotations

import collections
import dataclasses
import inspect
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from imp2tf.alternatives import over, raise_error, truth
from imp2tf.arithmetic import run_operation
from imp2tf.container_items import dict_item_at, with_item, without
from imp2tf.containers import append, by_alternative, concatenated, grow, has_element, holding, new, new_list, static
from imp2tf.dict_views import DictView
from imp2tf.errors import Contents as ContentsError
from imp2tf.errors import NeedsValue, fall_back
from imp2tf.growable import element_ids, growable_length, growable_of, picked
from imp2tf.growable_items import checked_position, clipped_position, deleted, inserted, item_of, position_of, taken
from imp2tf.heap import contents, set_contents
from imp2tf.kinds import is_container
from imp2tf.object_keys import check_keys
from imp2tf.picking import item_at
from imp2tf.region import select, stop_if
from imp2tf.searches import compares_as_python, count_of, is_equal, place_of
from imp2tf.session import current
from imp2tf.specs import Dense
from imp2tf.table_items import as_table_under, is_table_key, table_method
from imp2tf.tables import key_of
from imp2tf.values import Deferred, Growable, PyNumber, Table, Union, is_runtime

__all__ = ["ContainerMethod", "container_method", "replace_method"]


@dataclasses.dataclass(frozen=True, eq=False)
class ContainerMethod:
    """A method of a container, not yet called."""

    owner: Any
    name: str


_of_class: dict[tuple[type, str], Callable[..., Any]] = {}


def replace_method(cls: type, name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Inside a trace, a method of containers of this very class is the decorated function."""

    def register(replacement: Callable[..., Any]) -> Callable[..., Any]:
        _of_class[cls, name] = replacement
        return replacement

    return register


def container_method(method: ContainerMethod, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``owner.name(*args, **kwargs)``."""
    owner, name = method.owner, method.name
    special = _of_class.get((type(owner), name))
    if special is not None:
        return special(owner, *args, **kwargs)
    if isinstance(owner, (list, collections.deque)) and name == "append" and len(args) == 1 and not kwargs:
        return append(owner, args[0])
    if isinstance(owner, dict) and name in DICT_VIEWS and not args and not kwargs:
        return current().born(DictView(owner, name))
    if isinstance(owner, (dict, set)) and args and isinstance(args[0], Union):
        return over(args[0], lambda one: container_method(method, (one, *args[1:]), kwargs))
    found = contents(owner)
    if isinstance(found, Union):
        return by_alternative(owner, found, lambda: container_method(method, args, kwargs))
    if isinstance(found, Growable):
        return _growable_method(owner, found, name, args, kwargs)
    if isinstance(found, Table):
        return table_method(owner, found, name, args, kwargs)
    if isinstance(found, dict):
        return _dict_method(owner, found, name, args, kwargs)
    if isinstance(found, set):
        return _set_method(owner, found, name, args)
    return _list_method(owner, found, name, args, kwargs)


# ------------------------------------------------------------------------------------------------ lists and deques
def _growable_method(owner: Any, found: Growable, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    method = _GROWABLE_METHODS.get(name)
    if method is None or (isinstance(owner, collections.deque) and name not in DEQUE_METHODS):
        return fall_back(ContentsError, f"{type(owner).__name__}.{name} with a length that only the run knows")
    if name == "sort":
        return _sort(owner, found, kwargs)
    run_operation(inspect.signature(method).bind, owner, found, *args)
    return method(owner, found, *args)


def _kind(owner: Any) -> str:
    return "deque" if isinstance(owner, collections.deque) else "list"


def _append_left(owner: Any, found: Growable, value: Any) -> None:
    if owner.maxlen is not None:
        keeps = deleted(inserted(found, 0, value), slice(owner.maxlen, None), "")
        return set_contents(owner, keeps)
    return set_contents(owner, inserted(found, 0, value))


def _extend_left(owner: Any, found: Growable, values: Any) -> None:
    for value in static(current().run.call(list, values), "deque.extendleft"):
        container_method(ContainerMethod(owner, "appendleft"), (value,), {})


def _pop(owner: Any, found: Growable, *index: Any) -> Any:
    rest, value = taken(found, index, _kind(owner))
    set_contents(owner, rest)
    current().taken.add(id(value))
    current().kept.append(value)
    return value


def _pop_left(owner: Any, found: Growable) -> Any:
    return _pop(owner, found, 0)


def _insert(owner: Any, found: Growable, index: Any, value: Any) -> None:
    if isinstance(owner, collections.deque):
        fall_back(ContentsError, "deque.insert with a length that only the run knows")
    set_contents(owner, inserted(found, index, value))


def _rotate(owner: Any, found: Growable, steps: Any = 1) -> None:
    ids = element_ids(found)
    set_contents(owner, picked(found, tf.roll(ids, tf.cast(position_of(steps), tf.int32), 0)))


def _remove(owner: Any, found: Growable, value: Any) -> None:
    place = place_of(found, value)
    kind = "list.remove(x): x not in list" if _kind(owner) == "list" else _not_in_deque(value)
    stop_if(tf.equal(place, growable_length(found)), ValueError(kind))
    set_contents(owner, deleted(found, PyNumber("int", tf.cast(place, tf.int64)), "list index out of range"))


def _not_in_deque(value: Any) -> Any:
    return Deferred(_missing_text, (value, "deque"))


def _missing_text(value: Any, kind: str) -> str:
    return f"{value!r} is not in {kind}"


def _index(owner: Any, found: Growable, value: Any, *bounds: Any) -> Any:
    if bounds or isinstance(owner, collections.deque):
        fall_back(ContentsError, f"{_kind(owner)}.index between bounds of a list of run-time length")
    place = place_of(found, value)
    stop_if(tf.equal(place, growable_length(found)), ValueError(Deferred(_missing_text, (value, "list"))))
    return PyNumber("int", tf.cast(place, tf.int64))


def _reverse(owner: Any, found: Growable) -> None:
    set_contents(owner, item_of(found, slice(None, None, -1)))


def _sort(owner: Any, found: Any, kwargs: dict[str, Any]) -> None:
    set_contents(owner, contents(current().run.call(sorted, new_list(found), **kwargs)))


_GROWABLE_METHODS: dict[str, Callable[..., Any]] = {
    "append": lambda owner, found, value: append(owner, value), "appendleft": _append_left,
    "clear": lambda owner, found: set_contents(owner, []),
    "copy": lambda owner, found: holding(owner, found), "count": lambda owner, found, value: count_of(found, value),
    "extend": lambda owner, found, values: extend(owner, values), "extendleft": _extend_left, "index": _index, "insert": _insert,
    "pop": _pop, "popleft": _pop_left, "remove": _remove, "reverse": _reverse, "rotate": _rotate, "sort": _sort,
}
DEQUE_METHODS = frozenset({"append", "appendleft", "clear", "copy", "count", "extend", "extendleft", "pop", "popleft", "remove",
                           "reverse", "rotate"})


def extend(owner: Any, values: Any) -> None:
    """``owner.extend(values)``."""
    if isinstance(values, (tf.Tensor, tf.Variable)):
        values = _rows(tf.convert_to_tensor(values))
    elif not isinstance(values, Growable):
        values = contents(current().run.call(list, values))
    if isinstance(values, Union):
        fall_back(ContentsError, "a list is extended by a list of unknown contents")
    if isinstance(values, Growable):
        before = contents(owner)
        whole = values if isinstance(before, list) and not before else concatenated(
            before if isinstance(before, Growable) else grow(before), values)
        if isinstance(owner, collections.deque) and owner.maxlen is not None:
            whole = item_of(whole, slice(-owner.maxlen, None)) if owner.maxlen else item_of(whole, slice(0, 0))
        return set_contents(owner, whole)
    for value in list(values):
        append(owner, value)
    return None


def _rows(tensor: tf.Tensor) -> Any:
    """The rows of a tensor: a list, a `Growable` where only the run knows their number."""
    if tensor.shape.rank in (None, 0) or tensor.shape[0] is not None:
        return contents(current().run.call(list, tensor)) if tensor.shape.rank is None else run_operation(tf.unstack, tensor)
    return growable_of(Dense(tensor.dtype, tensor.shape[1:]), [tensor], tf.shape(tensor)[0])


LIST_QUERIES = frozenset({"copy", "count", "index"})


def _list_method(owner: Any, found: list[Any], name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if name == "extend" and len(args) == 1:
        return extend(owner, args[0])
    if name in ("index", "count", "remove") and args and not all(map(compares_as_python, (args[0], *found))):
        return _search(owner, found, name, args)
    if name == "sort" and (kwargs or any(map(is_runtime, found))):
        return _sort(owner, found, kwargs)
    if name in ("pop", "insert") and args and is_runtime(args[0]) and isinstance(owner, list):
        return _at_run_time(owner, found, name, args)
    if any(is_runtime(arg) for arg in args) and name not in ("insert", "append", "appendleft"):
        fall_back(ContentsError, f"{type(owner).__name__}.{name} with an argument that only the run knows")
    items = collections.deque(found, owner.maxlen) if isinstance(owner, collections.deque) else list(found)
    result = run_method(items, name, args, kwargs)
    if name == "copy":
        return new(result)
    if name not in LIST_QUERIES:
        set_contents(owner, list(items))
    return result


def _at_run_time(owner: list[Any], found: list[Any], name: str, args: tuple[Any, ...]) -> Any:
    """``pop`` and ``insert`` at a position that only the run knows, of a list whose length is known."""
    if name == "insert":
        run_operation(inspect.signature(list.insert).bind, owner, *args)
        return set_contents(owner, with_item(found, clipped_position(args[0], tf.constant(len(found))), args[1]))
    if not found:
        raise_error(IndexError("pop from empty list"))
    position = checked_position(args[0], len(found), "pop index out of range")
    set_contents(owner, without(found, position))
    return item_at(found, position)


def run_method(items: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A method of a Python container."""
    try:
        return getattr(items, name)(*args, **kwargs)
    except Exception as error:  # the container's own refusal is the program's
        return raise_error(error)


def _search(owner: Any, found: list[Any], name: str, args: tuple[Any, ...]) -> Any:
    """list.index, list.count and list.remove where equality is decided by the run."""
    if len(args) > 1:
        fall_back(ContentsError, f"list.{name} where equality is decided at run time")
    value = args[0]
    if name == "count":
        total: Any = 0
        for item in found:
            total = total + select_number(is_equal(item, value))
        return total
    missing = "list.remove(x): x not in list" if name == "remove" and isinstance(owner, list) else Deferred(
        _missing_text, (value, _kind(owner)))

    def at(index: int) -> Any:
        if index == len(found):
            return raise_error(ValueError(missing))
        equal = is_equal(found[index], value)
        if isinstance(equal, bool):
            return index if equal else at(index + 1)
        return select(equal, lambda: index, lambda: at(index + 1))

    place = at(0)
    if name == "index":
        return place
    left = [*found[:place], *found[place + 1:]] if isinstance(place, int) else without(found, position_of(place))
    return set_contents(owner, left)


def select_number(flag: Any) -> Any:
    """1 where a truth holds, 0 elsewhere."""
    return int(flag) if isinstance(flag, bool) else PyNumber("int", tf.cast(flag, tf.int64))


# ------------------------------------------------------------------------------------------------ dicts and sets
PLAIN_DICTS = (dict, collections.defaultdict, collections.OrderedDict)
DICT_VIEWS = frozenset({"items", "keys", "values"})


def _dict_method(owner: Any, found: dict[Any, Any], name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if args and is_table_key(args[0]) and name in ("setdefault", "pop"):
        return table_method(owner, found, name, args, kwargs)
    if name == "update" and args and is_container(args[0]) and isinstance(contents(args[0]), Table):
        kind = contents(args[0]).kind
        set_contents(owner, as_table_under(owner, found, key_of(kind, contents(args[0]).keys[0])))
        return container_method(ContainerMethod(owner, name), args, kwargs)
    if args and is_runtime(args[0]):
        return _dict_get_at(found, name, args)
    if args:
        check_keys((*(args[:1] if name not in ("update", "fromkeys") else ()), *found))
    if type(owner) not in PLAIN_DICTS and name != "get":
        fall_back(ContentsError, f"{type(owner).__name__}.{name}")
    if name == "get":
        return run_method(found, name, args, kwargs)
    if name == "copy":
        copied = owner.copy()
        copied.clear()
        copied.update(found)
        return new(copied)
    if name == "update":
        merged = {**found, **_mapping(args[0] if args else {}), **kwargs}
        return set_contents(owner, merged)
    items = dict(found) if not isinstance(owner, collections.OrderedDict) else collections.OrderedDict(found)
    result = run_method(items, name, args, kwargs)
    set_contents(owner, dict(items))
    return result


def _mapping(value: Any) -> dict[Any, Any]:
    return static(value if isinstance(value, dict) else current().run.call(dict, value), "dict.update")


def _dict_get_at(found: dict[Any, Any], name: str, args: tuple[Any, ...]) -> Any:
    if name != "get":
        fall_back(NeedsValue, f"dict.{name} with a key that only the run knows")
    default = args[1] if len(args) > 1 else None
    present = has_element(found, args[0])
    if isinstance(present, bool):
        return dict_item_at(found, args[0]) if present else default
    return select(truth(present), lambda: dict_item_at(found, args[0]), lambda: default)


def _set_method(owner: set[Any], found: set[Any], name: str, args: tuple[Any, ...]) -> Any:
    if len(args) == 1 and is_table_key(args[0]) and name in ("add", "discard", "remove"):
        return table_method(owner, found, name, args, {})
    if any(is_runtime(arg) for arg in args):
        fall_back(NeedsValue, f"set.{name} with a value that only the run knows")
    items = set(found)
    check_keys(found)
    plain = [static(arg, f"set.{name}") if is_container(arg) else arg for arg in args]
    if name in ("add", "discard", "remove"):
        check_keys(plain)
    result = run_method(items, name, tuple(plain), {})
    if items != found:
        set_contents(owner, items)
    return new(result) if isinstance(result, set) else result
