"""Functions of the standard library that do with their arguments what the program could do itself: the same steps in the graph.

    functools.reduce(f, xs)   -->   a loop that calls f
    heapq.nlargest(n, xs)     -->   sorted(xs, reverse=True)[:n]

What the library does in C on values that are known while tracing stays with the library.
"""
from __future__ import annotations

import bisect
import collections
import collections.abc
import functools
import heapq
import inspect
import itertools
from collections.abc import Callable, Iterator
from typing import Any

from imp2tf.arithmetic import holds_runtime
from imp2tf.calls import call, invoke, is_converted, replace_call
from imp2tf.container_methods import replace_method
from imp2tf.containers import new, new_list
from imp2tf.endless import counting, cycling, repeating
from imp2tf.foreign import call_pure
from imp2tf.heap import contents
from imp2tf.iterables import known_items
from imp2tf.kinds import is_container, is_user_function
from imp2tf.values import StandIn, Table, Union, is_tensor


def _reduce(function: Any, iterable: Any, *initial: Any) -> Any:
    if initial:
        made = initial[0]
        for item in iterable:
            made = function(made, item)
        return made
    items = list(iterable)
    if not items:
        raise TypeError("reduce() of empty iterable with no initial value")
    made = items[0]
    for item in items[1:]:
        made = function(made, item)
    return made


def _nlargest(n: Any, iterable: Any, key: Any = None) -> Any:
    return sorted(iterable, key=key, reverse=True)[:n] if n > 0 else []


def _nsmallest(n: Any, iterable: Any, key: Any = None) -> Any:
    return sorted(iterable, key=key)[:n] if n > 0 else []


def _bisect_right(a: Any, x: Any, lo: Any = 0, hi: Any = None, *, key: Any = None) -> Any:
    if lo < 0:
        raise ValueError("lo must be non-negative")
    if hi is None:
        hi = len(a)
    while lo < hi:
        middle = (lo + hi) // 2
        item = a[middle] if key is None else key(a[middle])
        if x < item:
            hi = middle
        else:
            lo = middle + 1
    return lo


def _bisect_left(a: Any, x: Any, lo: Any = 0, hi: Any = None, *, key: Any = None) -> Any:
    if lo < 0:
        raise ValueError("lo must be non-negative")
    if hi is None:
        hi = len(a)
    while lo < hi:
        middle = (lo + hi) // 2
        item = a[middle] if key is None else key(a[middle])
        if item < x:
            lo = middle + 1
        else:
            hi = middle
    return lo


def _insort_right(a: Any, x: Any, lo: Any = 0, hi: Any = None, *, key: Any = None) -> None:
    a.insert(_bisect_right(a, x if key is None else key(x), lo, hi, key=key), x)


def _insort_left(a: Any, x: Any, lo: Any = 0, hi: Any = None, *, key: Any = None) -> None:
    a.insert(_bisect_left(a, x if key is None else key(x), lo, hi, key=key), x)


# ------------------------------------------------------------------------------------------------ itertools
def _accumulate(iterable: Any, function: Any = None, *, initial: Any = None) -> Iterator[Any]:
    total, started = initial, initial is not None
    if started:
        yield total
    for item in iterable:
        if not started:
            total, started = item, True
        else:
            total = total + item if function is None else function(total, item)
        yield total


def _takewhile(predicate: Any, iterable: Any) -> Iterator[Any]:
    for item in iterable:
        if not predicate(item):
            break
        yield item


def _dropwhile(predicate: Any, iterable: Any) -> Iterator[Any]:
    dropping = True
    for item in iterable:
        if dropping and predicate(item):
            continue
        dropping = False
        yield item


def _filterfalse(predicate: Any, iterable: Any) -> Iterator[Any]:
    for item in iterable:
        if not (bool(item) if predicate is None else predicate(item)):
            yield item


def _starmap(function: Any, iterable: Any) -> Iterator[Any]:
    for args in iterable:
        yield function(*args)


def _chain(*iterables: Any) -> Iterator[Any]:
    for iterable in iterables:
        yield from iterable


def _chain_of(iterables: Any) -> Iterator[Any]:
    for iterable in iterables:
        yield from iterable


def _pairwise(iterable: Any) -> Iterator[Any]:
    items = list(iterable)
    for place in range(len(items) - 1):
        yield items[place], items[place + 1]


def _islice(iterable: Any, *bounds: Any) -> Iterator[Any]:
    start = (bounds[0] or 0) if len(bounds) > 1 else 0
    stop = bounds[0] if len(bounds) == 1 else bounds[1]
    step = (bounds[2] or 1) if len(bounds) > 2 else 1
    place = 0
    if stop is None or stop > 0:
        for item in iterable:
            if place >= start and (place - start) % step == 0:
                yield item
            place += 1
            if stop is not None and place >= stop:
                break


def _groupby(iterable: Any, key: Any = None) -> Iterator[Any]:
    groups: list[Any] = []
    held: list[Any] = []
    name = None
    for item in iterable:
        found = item if key is None else key(item)
        if held and name == found:
            held.append(item)
        else:
            if held:
                groups.append((name, held))
            name, held = found, [item]
    if held:
        groups.append((name, held))
    for name, held in groups:
        yield name, held


# ------------------------------------------------------------------------------------------------ collections.Counter
def _count_into(counter: Any, iterable: Any, by: Any, more: Any) -> None:
    if isinstance(iterable, dict):
        for key, count in iterable.items():
            counter[key] = counter[key] + by * count
    elif iterable is not None:
        for item in iterable:
            counter[item] = counter[item] + by
    for key, count in more.items():
        counter[key] = counter[key] + by * count


def _most_common(counter: Any, n: Any = None) -> Any:
    order = sorted(counter.items(), key=lambda pair: pair[1], reverse=True)
    return order if n is None else order[:n] if n > 0 else []


def _total(counter: Any) -> Any:
    return sum(counter.values())


def _elements(counter: Any) -> Iterator[Any]:
    for key, count in counter.items():
        for _ in range(count):
            yield key


@replace_call(collections.Counter)
def counter_(iterable: Any = None, /, **counts: Any) -> Any:
    """``collections.Counter(...)``."""
    made = new(collections.Counter())
    _count(made, iterable, 1, counts)
    return made


def _count(counter: Any, iterable: Any, by: int, more: dict[str, Any]) -> None:
    given = call(list, iterable) if isinstance(iterable, StandIn) else iterable
    invoke(_count_into, (counter, given, by, new(more)), {})


@replace_method(collections.Counter, "update")
def _update_counter(counter: Any, iterable: Any = None, /, **counts: Any) -> None:
    _count(counter, iterable, 1, counts)


@replace_method(collections.Counter, "subtract")
def _subtract(counter: Any, iterable: Any = None, /, **counts: Any) -> None:
    _count(counter, iterable, -1, counts)


for _name, _method in (("most_common", _most_common), ("total", _total), ("elements", _elements)):
    replace_method(collections.Counter, _name)(functools.partial(lambda method, *args: invoke(method, args, {}), _method))


# ------------------------------------------------------------------------------------------------ dicts, and what acts like one
def _from_keys(kind: Any, keys: Any, value: Any = None) -> Any:
    made = kind()
    for key in keys:
        made[key] = value
    return made


def _get(mapping: Any, key: Any, default: Any = None) -> Any:
    try:
        return mapping[key]
    except KeyError:
        return default


def _has(mapping: Any, key: Any) -> Any:
    try:
        mapping[key]
    except KeyError:
        return False
    return True


def _keys(mapping: Any) -> Any:
    return dict.fromkeys(mapping).keys()


def _values(mapping: Any) -> Any:
    return {key: mapping[key] for key in mapping}.values()


def _items(mapping: Any) -> Any:
    return {key: mapping[key] for key in mapping}.items()


def _pop(mapping: Any, key: Any, *default: Any) -> Any:
    try:
        found = mapping[key]
    except KeyError:
        if not default:
            raise
        return default[0]
    del mapping[key]
    return found


def _update(mapping: Any, other: Any = (), /, **more: Any) -> None:
    if hasattr(other, "keys"):
        for key in other.keys():  # noqa: SIM118 (any object that has keys)
            mapping[key] = other[key]
    else:
        for key, value in other:
            mapping[key] = value
    for key, value in more.items():
        mapping[key] = value


def _set_default(mapping: Any, key: Any, default: Any = None) -> Any:
    try:
        return mapping[key]
    except KeyError:
        mapping[key] = default
    return default


# ------------------------------------------------------------------------------------------------ which of them are taken
def _is_code(value: Any) -> bool:
    """Whether the program's own code would be called."""
    code = getattr(value, "__func__", value)
    return is_user_function(code) or is_converted(code) or isinstance(value, functools.partial) or is_user_function(
        inspect.getattr_static(type(value), "__call__", None))


def _is_of_run(value: Any) -> bool:
    """Whether the number of items is known to the run, or the items are made one after the other, as those of a tensor."""
    return isinstance(value, StandIn) or is_tensor(value) or (is_container(value) and not isinstance(contents(value), (list, dict, set)))


def _always(original: Callable[..., Any], twin: Any) -> None:
    @replace_call(original)
    def in_graph(*args: Any, **kwargs: Any) -> Any:
        return invoke(twin, args, kwargs)


def _holds_of_run(value: Any) -> bool:
    """The same of an iterable or, where it is a list or tuple, of one of its items."""
    if isinstance(value, list):
        return _is_of_run(value) or any(map(_is_of_run, contents(value)))
    return _is_of_run(value) or (isinstance(value, tuple) and any(map(_is_of_run, value)))


def _where_needed(original: Callable[..., Any], twin: Any, is_of_run: Callable[[Any], bool] = _is_of_run) -> None:
    @replace_call(original)
    def in_graph(*args: Any, **kwargs: Any) -> Any:
        values = (*args, *kwargs.values())
        if any(map(_is_code, values)) or any(map(is_of_run, values)):
            return invoke(twin, args, kwargs)
        return call_pure(original, args, kwargs)


def _on_values_of_the_run(original: Callable[..., Any], twin: Any) -> None:
    @replace_call(original)
    def in_graph(*args: Any, **kwargs: Any) -> Any:
        known = not any(isinstance(one, (Table, Union)) or _is_of_run(one) for one in args) and not any(map(_is_code, kwargs.values()))
        if known and not any(holds_runtime(contents(one) if is_container(one) else one) for one in args):
            return call_pure(original, args, kwargs)
        return invoke(twin, args, kwargs)


def _of_known_items(original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    items = [tuple(known_items(one, f"itertools.{original.__name__}()")) if is_tensor(one) else one for one in args]
    return call_pure(original, tuple(items), kwargs)


@replace_call(itertools.count)
def count(start: Any = 0, step: Any = 1) -> Any:
    """``itertools.count(...)``."""
    return new(counting(start, step))


@replace_call(itertools.cycle)
def cycle(iterable: Any) -> Any:
    """``itertools.cycle(...)`` of items whose number is known."""
    items = known_items(iterable, "itertools.cycle()")
    return new(cycling(items)) if items else new_list([])


@replace_call(itertools.repeat)
def repeat(value: Any, *times: Any, **kwargs: Any) -> Any:
    """``itertools.repeat(...)``."""
    return call_pure(itertools.repeat, (value, *times), kwargs) if times or kwargs else new(repeating(value))


for _cls in (dict, collections.OrderedDict):
    replace_call(_cls.fromkeys)(functools.partial(lambda kind, *args: invoke(_from_keys, (kind, *args), {}), _cls))
_always(collections.abc.Mapping.get, _get)
_always(collections.abc.Mapping.__contains__, _has)
_always(collections.abc.Mapping.keys, _keys)
_always(collections.abc.Mapping.values, _values)
_always(collections.abc.Mapping.items, _items)
_always(collections.abc.MutableMapping.pop, _pop)
_always(collections.abc.MutableMapping.update, _update)
_always(collections.abc.MutableMapping.setdefault, _set_default)
_always(functools.reduce, _reduce)
_always(heapq.nlargest, _nlargest)
_always(heapq.nsmallest, _nsmallest)
_always(itertools.groupby, _groupby)
_always(bisect.insort_left, _insort_left)
_always(bisect.insort_right, _insort_right)
_on_values_of_the_run(bisect.bisect_left, _bisect_left)
_on_values_of_the_run(bisect.bisect_right, _bisect_right)
for _helper in (_bisect_left, _bisect_right):
    replace_call(_helper)(functools.partial(lambda helper, *args, **kwargs: invoke(helper, args, kwargs), _helper))
for _original, _twin in ((itertools.accumulate, _accumulate), (itertools.takewhile, _takewhile), (itertools.dropwhile, _dropwhile),
                         (itertools.filterfalse, _filterfalse), (itertools.starmap, _starmap), (itertools.chain, _chain),
                         (itertools.pairwise, _pairwise), (itertools.islice, _islice)):
    _where_needed(_original, _twin)
_where_needed(itertools.chain.from_iterable, _chain_of, _holds_of_run)
for _iteration in (itertools.product, itertools.combinations, itertools.combinations_with_replacement, itertools.permutations,
                  itertools.zip_longest, itertools.compress):
    replace_call(_iteration)(functools.partial(_of_known_items, _iteration))
