"""Functions of the module ``operator`` are the operators: on the program's own objects, and on what only the run knows.

    operator.add(a, b)   -->   a + b
"""
from __future__ import annotations

import functools
import operator as python
from collections.abc import Callable
from typing import Any

from imp2tf.attributes import get_attribute
from imp2tf.calls import call, invoke, replace_call, replace_calls_of_objects
from imp2tf.in_place import IN_PLACE, in_place
from imp2tf.operations import binary_operation, compare_operation
from imp2tf.python_numbers import BINARY, COMPARE
from imp2tf.session import current


def _replace(function: Callable[..., Any], operation: Callable[[str, Any, Any], Any], op: str) -> None:
    @replace_call(function)
    def operated(a: Any, b: Any, /) -> Any:
        return operation(op, a, b)


for _operation, _functions in ((binary_operation, BINARY), (compare_operation, COMPARE), (in_place, IN_PLACE)):
    for _op, _function in _functions.items():
        _replace(_function, _operation, _op)


def _getitem(container: Any, key: Any) -> Any:
    return container[key]


def _setitem(container: Any, key: Any, value: Any) -> None:
    container[key] = value


def _delitem(container: Any, key: Any) -> None:
    del container[key]


def _contains(container: Any, value: Any) -> Any:
    return value in container


def _concat(a: Any, b: Any) -> Any:
    return a + b


def _neg(a: Any) -> Any:
    return -a


def _pos(a: Any) -> Any:
    return +a


def _invert(a: Any) -> Any:
    return ~a


def _not(a: Any) -> Any:
    return not a


def _truth(a: Any) -> Any:
    return bool(a)


def _is(a: Any, b: Any) -> Any:
    return a is b


def _is_not(a: Any, b: Any) -> Any:
    return a is not b


def _abs(a: Any) -> Any:
    return abs(a)


def _in_graph(original: Callable[..., Any], twin: Any) -> None:
    @replace_call(original)
    def called(*args: Any) -> Any:
        return invoke(twin, args, {})


for _original, _twin in ((python.getitem, _getitem), (python.setitem, _setitem), (python.delitem, _delitem), (python.contains, _contains),
                         (python.concat, _concat), (python.neg, _neg), (python.pos, _pos), (python.invert, _invert), (python.not_, _not),
                         (python.truth, _truth), (python.is_, _is), (python.is_not, _is_not), (python.abs, _abs)):
    _in_graph(_original, _twin)


# ------------------------------------------------------------------------------------------------ objects that ask others
@replace_calls_of_objects(python.attrgetter)
def attrgetter(getter: Any, owner: Any) -> Any:
    """``operator.attrgetter('a', 'b.c')(owner)``."""
    found = [functools.reduce(get_attribute, name.split("."), owner) for name in getter.__reduce__()[1]]
    return found[0] if len(found) == 1 else tuple(found)


@replace_calls_of_objects(python.itemgetter)
def itemgetter(getter: Any, owner: Any) -> Any:
    """``operator.itemgetter(0, 2)(owner)``."""
    found = [invoke(_getitem, (owner, key), {}) for key in getter.__reduce__()[1]]
    return found[0] if len(found) == 1 else tuple(found)


@replace_call(python.methodcaller)
def methodcaller_(name: str, /, *args: Any, **kwargs: Any) -> Any:
    """``operator.methodcaller('add', 1)``."""
    return current().born(python.methodcaller(name, *args, **kwargs))


@replace_calls_of_objects(python.methodcaller)
def methodcaller(caller: Any, owner: Any) -> Any:
    """``operator.methodcaller('add', 1)(owner)``."""
    how, args = caller.__reduce__()
    if isinstance(how, functools.partial):
        return call(get_attribute(owner, how.args[0]), *args, **how.keywords)
    return call(get_attribute(owner, args[0]), *args[1:])
