"""Methods of lists, dicts, sets and deques."""
from __future__ import annotations

import collections
import dataclasses
from typing import Any

import tensorflow as tf

from imp2tf.alternatives import raise_error, truth
from imp2tf.arithmetic import compare, run_operation
from imp2tf.container_items import dict_item_at
from imp2tf.containers import any_equal, append, by_alternative, new, new_list, static
from imp2tf.dict_views import DictView
from imp2tf.errors import Contents as ContentsError
from imp2tf.errors import NeedsValue, fall_back
from imp2tf.growable import growable_length, popped
from imp2tf.heap import contents, is_container, set_contents
from imp2tf.region import select, stop_if
from imp2tf.session import current
from imp2tf.values import Growable, PyNumber, Union, is_runtime

__all__ = ["ContainerMethod", "container_method"]


@dataclasses.dataclass(frozen=True, eq=False)
class ContainerMethod:
    """A method of a container, not yet called."""

    owner: Any
    name: str


def container_method(method: ContainerMethod, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``owner.name(*args, **kwargs)``."""
    owner, name = method.owner, method.name
    if isinstance(owner, list) and name == "append" and len(args) == 1:
        return append(owner, args[0])
    if isinstance(owner, dict) and name in DICT_VIEWS and not args and not kwargs:
        return current().born(DictView(owner, name))
    found = contents(owner)
    if isinstance(found, Union):
        return by_alternative(owner, found, lambda: container_method(method, args, kwargs))
    if isinstance(found, Growable):
        return _growable_method(owner, found, name, args)
    if isinstance(found, dict):
        return _dict_method(owner, found, name, args, kwargs)
    if isinstance(found, set):
        return _set_method(owner, found, name, args)
    return _list_method(owner, found, name, args, kwargs)


def _growable_method(owner: list[Any], found: Growable, name: str, args: tuple[Any, ...]) -> Any:
    if name == "pop" and not args:
        stop_if(tf.equal(growable_length(found), 0), IndexError("pop from empty list"))
        rest, value = popped(found)
        set_contents(owner, rest)
        return value
    if name == "clear":
        return set_contents(owner, [])
    if name == "copy":
        return new_list(found)
    if name == "extend":
        return extend(owner, args[0])
    return fall_back(ContentsError, f"list.{name} on a list of run-time length")


def extend(owner: Any, values: Any) -> None:
    """``owner.extend(values)``."""
    more = contents(values) if is_container(values) else values
    if isinstance(more, Growable):
        before = contents(owner)
        if isinstance(before, list) and not before:
            return set_contents(owner, more)
        fall_back(ContentsError, "a list is extended by a list of run-time length")
    if isinstance(more, tf.Tensor):
        more = run_operation(tf.unstack, more)
    for value in list(more):
        append(owner, value) if isinstance(owner, list) else container_method(ContainerMethod(owner, "append"), (value,), {})
    return None


LIST_QUERIES = frozenset({"copy", "count", "index"})


def _list_method(owner: Any, found: list[Any], name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if name == "extend":
        return extend(owner, args[0])
    if name in ("index", "count", "remove") and (is_runtime(args[0]) or any(map(is_runtime, found))):
        return _search(owner, found, name, args)
    if name == "sort" and (kwargs or any(map(is_runtime, found))):
        return set_contents(owner, static(current().run.call(sorted, new(list(found)), **kwargs), "list.sort"))
    if any(is_runtime(arg) for arg in args) and name not in ("insert", "append", "appendleft"):
        fall_back(ContentsError, f"{type(owner).__name__}.{name} with an argument that only the run knows")
    if name == "insert" and is_runtime(args[0]):
        fall_back(ContentsError, "list.insert at a position that only the run knows")
    items = collections.deque(found, owner.maxlen) if isinstance(owner, collections.deque) else list(found)
    result = run_method(items, name, args, kwargs)
    if name == "copy":
        return new(result)
    if name not in LIST_QUERIES:
        set_contents(owner, list(items))
    return result


def run_method(items: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    try:
        return getattr(items, name)(*args, **kwargs)
    except Exception as error:  # the container's own refusal is the program's
        return raise_error(error)


def _search(owner: Any, found: list[Any], name: str, args: tuple[Any, ...]) -> Any:
    """list.index and list.count where equality is decided by the run."""
    if name == "remove" or len(args) > 1:
        fall_back(ContentsError, f"list.{name} where equality is decided at run time")
    value = args[0]
    if name == "count":
        total: Any = 0
        for item in found:
            total = total + select_number(True if item is value else truth(compare("==", item, value)))
        return total

    def at(index: int) -> Any:
        if index == len(found):
            return raise_error(ValueError(f"{value!r} is not in list"))
        equal = True if found[index] is value else truth(compare("==", found[index], value))
        if isinstance(equal, bool):
            return index if equal else at(index + 1)
        return select(equal, lambda: index, lambda: at(index + 1))

    return at(0)


def select_number(flag: Any) -> Any:
    """1 where a truth holds, 0 elsewhere."""
    return int(flag) if isinstance(flag, bool) else PyNumber("int", tf.cast(flag, tf.int64))


PLAIN_DICTS = (dict, collections.defaultdict, collections.OrderedDict)
DICT_VIEWS = frozenset({"items", "keys", "values"})


def _dict_method(owner: Any, found: dict[Any, Any], name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if args and is_runtime(args[0]):
        return _dict_get_at(found, name, args)
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
    if isinstance(value, dict):
        return static(value, "dict.update")
    return dict(static(value, "dict.update") if is_container(value) else value)


def _dict_get_at(found: dict[Any, Any], name: str, args: tuple[Any, ...]) -> Any:
    if name != "get":
        fall_back(NeedsValue, f"dict.{name} with a key that only the run knows")
    default = args[1] if len(args) > 1 else None
    present = any_equal([key for key in found if isinstance(key, (int, float))], args[0])
    if isinstance(present, bool):
        return dict_item_at(found, args[0]) if present else default
    return select(truth(present), lambda: dict_item_at(found, args[0]), lambda: default)


def _set_method(owner: set[Any], found: set[Any], name: str, args: tuple[Any, ...]) -> Any:
    if any(is_runtime(arg) for arg in args):
        fall_back(NeedsValue, f"set.{name} with a value that only the run knows")
    items = set(found)
    plain = [static(arg, f"set.{name}") if is_container(arg) else arg for arg in args]
    result = run_method(items, name, tuple(plain), {})
    if items != found:
        set_contents(owner, items)
    return new(result) if isinstance(result, set) else result
