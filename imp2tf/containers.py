"""Lists, dicts, sets and deques as the trace keeps them.

The container object is only an identity; its elements are a place of the heap (`imp2tf.heap.contents`), which
branches and loops carry like a local variable. A list whose elements differ in number from path to path becomes growable.
"""
from __future__ import annotations

import collections
import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import tensorflow as tf

from imp2tf.alternatives import over, raise_error, truth
from imp2tf.arithmetic import as_number, compare, run_operation
from imp2tf.errors import Contents as ContentsError
from imp2tf.errors import NeedsValue, fall_back
from imp2tf.growable import GrowableList, element_at, empty_growable, growable_length, popped, pushed, replaced
from imp2tf.heap import contents, is_container, is_unread, length, set_contents
from imp2tf.join import describe, join, join_all
from imp2tf.picking import item_at
from imp2tf.places import Contents, Tail
from imp2tf.region import select, stop_if
from imp2tf.session import NOT_STORED, current
from imp2tf.snapshots import freeze, seal
from imp2tf.specs import Constant
from imp2tf.values import Deferred, Growable, PyNumber, StandIn, Union, is_runtime

__all__ = [
    "ContainerMethod", "DictView", "any_equal", "append", "container_length", "container_method", "delete_item", "get_item",
    "has_element", "new", "set_item",
]


class DictView(StandIn):
    """``owner.keys()``, ``owner.values()`` or ``owner.items()``: what the dict holds when it is looked at."""

    what = "a view of a dict"

    def __init__(self, owner: dict[Any, Any] | Union, name: str) -> None:
        self.owner: Any = owner
        self.name = name

    def __iter__(self) -> Iterator[Any]:
        found = self.found()
        return iter(static(self.listed(), f"dict.{self.name}") if isinstance(found, Union) else self.of(found))

    def found(self) -> Any:
        """The contents of the dict, or a union: of dicts, or of what the one dict may hold."""
        return self.owner if isinstance(self.owner, Union) else contents(self.owner)

    def listed(self) -> list[Any]:
        """A new list of what the view shows, which may be of run-time length."""

        def items(view: DictView) -> Any:
            found = view.found()
            return over(found, lambda one: new(list(self.of(one)))) if isinstance(found, Union) else new(list(self.of(found)))

        return self.over(items)

    def over(self, operation: Callable[[DictView], Any]) -> Any:
        """`operation` on the view of the one dict that the run finds, where the view may be of several."""
        return over(self.owner, lambda one: operation(DictView(one, self.name))) if isinstance(self.owner, Union) else operation(self)

    def of(self, found: dict[Any, Any]) -> Any:
        """Python's view of a dict with these contents."""
        return getattr(found, self.name)()


@dataclasses.dataclass(frozen=True, eq=False)
class ContainerMethod:
    """A method of a container, not yet called."""

    owner: Any
    name: str


def new(container: Any) -> Any:
    """A container that converted code has just made."""
    return current().born(container)


def new_list(elements: Any) -> list[Any]:
    """A new list with these elements, which may be of run-time length."""
    if isinstance(elements, Growable):
        made: list[Any] = new([])
        set_contents(made, elements)
        return made
    return new(list(elements))


def static(container: Any, action: str) -> Any:
    """The elements of a container, which must be known while tracing."""
    found = contents(container)
    if isinstance(found, (Growable, Union)):
        fall_back(ContentsError, f"{action} needs a {type(container).__name__}'s contents, which only the run knows")
    return found


def _by_alternative(container: Any, found: Union, operation: Callable[[], Any]) -> Any:
    """Do an operation once for each of the contents that a container may have."""

    def with_contents(one: Any) -> Any:
        set_contents(container, one)
        return operation()

    return over(found, with_contents)


# ------------------------------------------------------------------------------------------------ queries
def container_length(container: Any) -> Any:
    """``len(container)``."""
    if is_unread(container) and not isinstance(container, set):
        return _unread_length(container)
    found = contents(container)
    if isinstance(found, Union):
        return over(found, len)
    return PyNumber("int", tf.cast(growable_length(found), tf.int64)) if isinstance(found, Growable) else len(found)


def _unread_length(container: Any) -> Any:
    tail = current().raw(Tail(container))
    before = length(container)
    if tail is NOT_STORED:
        return before
    after = PyNumber("int", tf.cast(growable_length(tail), tf.int64)) if isinstance(tail, Growable) else len(tail)
    return before + after


def has_element(container: Any, value: Any) -> Any:
    """``value in container`` for containers and tuples: identity first, then equality, as Python does."""
    found = contents(container) if is_container(container) else container
    if isinstance(found, Union):
        return over(found, lambda one: has_element(one, value))
    if isinstance(found, Growable):
        return fall_back(ContentsError, "`in` on a list of run-time length")
    if isinstance(found, (dict, set)) and not is_runtime(value):
        return run_operation(lambda: value in found)
    return any_equal(list(found), value)


def any_equal(items: list[Any], value: Any) -> Any:
    """Whether an element is `value` or equals it."""
    if not items:
        return False
    first, rest = items[0], items[1:]
    equal = True if first is value else truth(compare("==", value, first))
    if isinstance(equal, bool):
        return True if equal else any_equal(rest, value)
    others = select(equal, lambda: True, lambda: any_equal(rest, value))
    return others


# ------------------------------------------------------------------------------------------------ items
def get_item(container: Any, key: Any) -> Any:
    """``container[key]`` for a list, tuple, deque or dict."""
    if isinstance(container, dict):
        return _dict_item(container, key)
    found = contents(container) if is_container(container) else container
    if isinstance(found, Union):
        return over(found, lambda one: get_item(tuple(one), key))
    if isinstance(found, Growable):
        return _growable_item(found, key)
    if isinstance(key, slice):
        items = run_operation(lambda: found[_static_slice(key)])
        return new(items) if isinstance(container, list) else items
    if is_runtime(key):
        return _item_at(list(found), key, f"{_kind(container)} index out of range")
    return run_operation(lambda: found[key])


def _kind(container: Any) -> str:
    return "tuple" if isinstance(container, tuple) else type(container).__name__


def _static_slice(key: slice) -> slice:
    if any(is_runtime(part) for part in (key.start, key.stop, key.step)):
        fall_back(NeedsValue, "a slice with run-time bounds of a Python sequence")
    return key


def _position(key: Any, count: Any) -> tf.Tensor:
    """A run-time index as int64, counted from the front."""
    if isinstance(key, tf.Tensor) and not key.dtype.is_integer:
        run_operation(lambda: key.dtype.as_numpy_dtype(0).__index__())  # as NumPy's scalars refuse
    index = as_number(key, "int") if isinstance(key, PyNumber) else tf.cast(key, tf.int64)
    return tf.where(index < 0, index + count, index)


def _checked_position(key: Any, count: Any, message: str) -> tf.Tensor:
    """A run-time index that is in range; `message` tells the error, and so the kind of container, where it is not."""
    if isinstance(key, PyNumber) and key.kind == "float":
        kind = message.partition(" ")[0]
        words = "sequence index must be integer, not 'float'" if kind == "deque" else "indices must be integers or slices, not float"
        raise_error(TypeError(words if kind == "deque" else f"{kind} {words}"))
    position = _position(key, count)
    stop_if(tf.logical_or(position >= count, position < 0), IndexError(message))
    return position


def _item_at(items: list[Any], key: Any, message: str) -> Any:
    if isinstance(key, Deferred):
        fall_back(NeedsValue, "an index that is known after the run")
    position = _checked_position(key, len(items), message)
    return item_at(items, position) if items else raise_error(IndexError(message))


def _growable_item(found: Growable, key: Any) -> Any:
    if isinstance(key, slice):
        fall_back(ContentsError, "a slice of a list of run-time length")
    count = tf.cast(growable_length(found), tf.int64)
    position = _checked_position(key, count, "list index out of range")
    return element_at(found, tf.cast(position, tf.int32))


def _dict_item(container: Any, key: Any) -> Any:
    found = contents(container)
    if isinstance(found, Union):
        return _by_alternative(container, found, lambda: _dict_item(container, key))
    if is_runtime(key):
        return _dict_item_at(found, key)
    if run_operation(lambda: key in found):
        return found[key]
    if isinstance(container, collections.Counter):
        return 0
    if hasattr(type(container), "__missing__") and not isinstance(container, collections.defaultdict):
        fall_back(ContentsError, f"a missing key of a {type(container).__name__}")
    factory = getattr(container, "default_factory", None)
    if factory is not None:
        value = current().run.call(factory)
        set_contents(container, {**contents(container), key: value})
        return value
    return raise_error(KeyError(key))


def _dict_item_at(found: dict[Any, Any], key: Any) -> Any:
    """The value under a run-time key: each entry is asked for in turn."""
    if not isinstance(key, PyNumber):
        fall_back(NeedsValue, "a dict is asked for a key that only the run knows")
    numbers = [(name, value) for name, value in found.items() if isinstance(name, (int, float))]

    def at(index: int) -> Any:
        if index == len(numbers):
            return raise_error(KeyError(key))
        name, value = numbers[index]
        return select(truth(compare("==", key, name)), lambda: value, lambda: at(index + 1))

    return at(0)


def set_item(container: Any, key: Any, value: Any) -> None:
    """``container[key] = value``."""
    found = contents(container)
    if isinstance(found, Union):
        _by_alternative(container, found, lambda: set_item(container, key, value))
    elif isinstance(found, Growable):
        set_contents(container, _growable_set(found, key, value))
    elif isinstance(found, dict):
        _dict_set(container, found, key, value)
    elif is_runtime(key):
        _set_item_at(container, list(found), key, value)
    else:
        items = list(found)
        if isinstance(key, slice):
            value = list(static(value, "a slice assignment")) if is_container(value) else list(value)
            key = _static_slice(key)
        run_operation(items.__setitem__, key, value) if isinstance(key, slice) else _put(items, key, value)
        set_contents(container, items)


def _put(items: list[Any], key: Any, value: Any) -> None:
    try:
        items[key] = value
    except (IndexError, TypeError) as error:
        raise_error(error)


def _dict_set(container: Any, found: dict[Any, Any], key: Any, value: Any) -> None:
    if is_runtime(key):
        fall_back(NeedsValue, "a dict is written under a key that only the run knows")
    items = dict(found)
    run_operation(hash, key)
    items[key] = value
    set_contents(container, items)


def _set_item_at(container: Any, items: list[Any], key: Any, value: Any) -> None:
    position = _checked_position(key, len(items), "list assignment index out of range")
    changed = [
        select(tf.equal(position, index), lambda: value, lambda item=item: item)  # type: ignore[misc]
        for index, item in enumerate(items)
    ]
    set_contents(container, changed)


def _growable_set(found: Growable, key: Any, value: Any) -> Growable:
    if isinstance(key, slice):
        fall_back(ContentsError, "a slice of a list of run-time length is assigned")
    count = tf.cast(growable_length(found), tf.int64)
    position = tf.cast(_checked_position(key, count, "list assignment index out of range"), tf.int32)
    frozen = copied(value)
    if join(found.element, Constant(frozen)) != found.element:
        # the gradient of a replaced element has the shape of the new one
        fall_back(ContentsError, "an element of a list of run-time length is replaced by one of another kind or shape")
    return replaced(found, position, found.element.pack(frozen))


def delete_item(container: Any, key: Any) -> None:
    """``del container[key]``."""
    found = contents(container)
    if isinstance(found, Union):
        _by_alternative(container, found, lambda: delete_item(container, key))
        return
    if isinstance(found, Growable) or is_runtime(key):
        fall_back(ContentsError, "del of an element that only the run knows")
    items = found.copy()
    try:
        del items[_static_slice(key) if isinstance(key, slice) else key]
    except (KeyError, IndexError, TypeError) as error:
        raise_error(error)
    set_contents(container, items)


# ------------------------------------------------------------------------------------------------ methods
def container_method(method: ContainerMethod, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``owner.name(*args, **kwargs)``."""
    owner, name = method.owner, method.name
    if isinstance(owner, list) and name == "append" and len(args) == 1:
        return append(owner, args[0])
    if isinstance(owner, dict) and name in DICT_VIEWS and not args and not kwargs:
        return current().born(DictView(owner, name))
    found = contents(owner)
    if isinstance(found, Union):
        return _by_alternative(owner, found, lambda: container_method(method, args, kwargs))
    if isinstance(found, Growable):
        return _growable_method(owner, found, name, args)
    if isinstance(found, dict):
        return _dict_method(owner, found, name, args, kwargs)
    if isinstance(found, set):
        return _set_method(owner, found, name, args)
    return _list_method(owner, found, name, args, kwargs)


def append(owner: list[Any], value: Any) -> None:
    """``owner.append(value)``; a list that nobody has read is not read for it."""
    place: Contents | Tail = Tail(owner) if is_unread(owner) else Contents(owner)
    session = current()
    found = session.raw(place)
    if found is NOT_STORED:
        found = [] if isinstance(place, Tail) else contents(owner)
    if isinstance(found, Union):
        _by_alternative(owner, found, lambda: append(owner, value))
        return
    session.write(place, _grown(found, value) if isinstance(found, Growable) else [*found, value])


def _grown(found: Growable, value: Any) -> Growable:
    """`found` with one element more, of any kind."""
    frozen = copied(value)
    element = join(found.element, describe(frozen))
    if element != found.element:
        found = Growable(GrowableList(element).pack(found), element)
    return pushed(found, element.pack(frozen))


def copied(value: Any) -> Any:
    """A value frozen by its elements, to be put in a list of run-time length; its objects may not be changed any more."""
    frozen = freeze(value, current().depth)
    seal(frozen)
    return frozen


def grow(items: list[Any]) -> Growable:
    """A static list as a growable one."""
    frozen = [copied(item) for item in items]
    element = join_all([describe(item) for item in frozen])
    found = empty_growable(element)
    for item in frozen:
        found = pushed(found, element.pack(item))
    return found


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
    result = _run_method(items, name, args, kwargs)
    if name == "copy":
        return new(result)
    if name not in LIST_QUERIES:
        set_contents(owner, list(items))
    return result


def _run_method(items: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
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
        return _run_method(found, name, args, kwargs)
    if name == "copy":
        copied = owner.copy()
        copied.clear()
        copied.update(found)
        return new(copied)
    if name == "update":
        merged = {**found, **_mapping(args[0] if args else {}), **kwargs}
        return set_contents(owner, merged)
    items = dict(found) if not isinstance(owner, collections.OrderedDict) else collections.OrderedDict(found)
    result = _run_method(items, name, args, kwargs)
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
        return _dict_item_at(found, args[0]) if present else default
    return select(truth(present), lambda: _dict_item_at(found, args[0]), lambda: default)


def _set_method(owner: set[Any], found: set[Any], name: str, args: tuple[Any, ...]) -> Any:
    if any(is_runtime(arg) for arg in args):
        fall_back(NeedsValue, f"set.{name} with a value that only the run knows")
    items = set(found)
    plain = [static(arg, f"set.{name}") if is_container(arg) else arg for arg in args]
    result = _run_method(items, name, tuple(plain), {})
    if items != found:
        set_contents(owner, items)
    return new(result) if isinstance(result, set) else result


