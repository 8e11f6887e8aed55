"""Runs of the plain program that are watched, or that repeat what a graph has already done.

The program is left as it is, but for each call: ``f(x)`` becomes ``imp2tf_entered(f, site)(x)``, which gives back `f` itself,
a form of it that is watched in the same way if it is the user's function, or a wrapper if it is a call that no graph can
look into. Where a statement calls methods by itself, ``with m:`` becomes ``with imp2tf_managed(m):``, and ``for x in xs:`` becomes
``for x in imp2tf_iterated(xs):``. A *recording* notes what such calls return, so that a graph can be made that makes them. A *replay*
gives the results of those that a graph had made before it could not go on, and lets the program run on from there.
"""
from __future__ import annotations

import collections
import contextlib
import functools
import inspect
import linecache
import re
import sys
import threading
import types
import weakref
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import gast
import tensorflow as tf

from imp2tf.analysis.flow import has_await
from imp2tf.analysis.updates import Updates, updates_of
from imp2tf.disabled import is_disabled
from imp2tf.disk_cache import kept_or_made
from imp2tf.errors import Fallback
from imp2tf.kinds import is_drop_in, is_user_function
from imp2tf.layer_calls import has_layers, replaced_calls
from imp2tf.opaque import is_left_to_python
from imp2tf.purity import has_plain_new, is_numpy_function, is_pure, is_tensorflow
from imp2tf.results import Changed, Profile, Raised, Site, is_fresh, kind_of, name_of_callee, watched_arguments
from imp2tf.source import SourceUnavailable, bind, compile_node, lambda_to_function, read

__all__ = ["Done", "History", "Recording", "Replay", "is_passed", "watched", "watching"]

ENTERED, MANAGED, ITERATED = "imp2tf_entered", "imp2tf_managed", "imp2tf_iterated"
# What takes the items of its arguments: of those at which positions. `max` and `min` take those of an argument that stands alone.
ITERATING: dict[Any, slice] = {enumerate: slice(1), list: slice(1), map: slice(1, None), max: slice(1), min: slice(1), sorted: slice(1),
                               sum: slice(1), tuple: slice(1), zip: slice(None)}
MADE_MANAGER = contextlib.contextmanager(lambda: iter(())).__code__
RESIZED = (list, collections.deque)
RESIZING = frozenset({"append", "appendleft", "clear", "extend", "extendleft", "insert", "pop", "popleft", "remove"})
OWN_REFERENCES = 3  # to a list that nobody but a `Recording` has
LEFT_ALONE = frozenset({"super", "locals", "globals", "vars", "dir", "eval", "exec", "breakpoint", "__import__"})


class _Thread(threading.local):
    watcher: _Watcher | None = None


_thread = _Thread()
_functions: weakref.WeakKeyDictionary[types.FunctionType, types.FunctionType] = weakref.WeakKeyDictionary()


@contextlib.contextmanager
def watching(watcher: _Watcher) -> Iterator[None]:
    """Let `watcher` see the calls of watched functions on this thread."""
    before, _thread.watcher = _thread.watcher, watcher
    try:
        yield
    finally:
        _thread.watcher = before


def watched(function: Any) -> Any:
    """The watched form of a function of the user, for library code that is going to call it."""
    return _entered(function, ("", 0))


def _entered(function: Any, place: tuple[str, int]) -> Any:
    watcher = _thread.watcher
    return function if watcher is None else watcher.entered(function, place)


def _managed(manager: Any) -> Any:
    """What a ``with`` statement is given instead of a manager."""
    methods = [getattr(type(manager), name, None) for name in ("__enter__", "__exit__")]
    return _Manager(manager) if _thread.watcher is not None and all(map(is_user_function, methods)) else manager


def _iterated(value: Any) -> Any:
    """What a loop is given instead of an iterable."""
    method = getattr(type(value), "__iter__", None)
    return _Items(_entered(method, ("", 0))(value)) if _thread.watcher is not None and is_user_function(method) else value


def _iterating(function: Any, places: slice, /, *args: Any, **kwargs: Any) -> Any:
    given = list(args)
    if function not in (max, min) or len(given) == 1:
        given[places] = map(_iterated, given[places])
    return function(*given, **kwargs)


def _with_layers(layer: Any, called: Any, /, *args: Any, **kwargs: Any) -> Any:
    """A call of a Keras layer, or of a method of one: those of the user inside it are watched."""
    with replaced_calls(layer, watched):
        return called(*args, **kwargs)


class _Manager:
    """A manager of the user, whose methods are watched."""

    def __init__(self, manager: Any) -> None:
        self._manager = manager

    def __enter__(self) -> Any:
        return _entered(type(self._manager).__enter__, ("", 0))(self._manager)

    def __exit__(self, *told: Any) -> Any:
        return _entered(type(self._manager).__exit__, ("", 0))(self._manager, *told)


class _Items:
    """An iterator that the user's ``__iter__`` has given, whose method is watched if it is the user's."""

    def __init__(self, iterator: Any) -> None:
        self._iterator = iterator

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        method = getattr(type(self._iterator), "__next__", None)
        return _entered(method, ("", 0))(self._iterator) if is_user_function(method) else next(self._iterator)


# ------------------------------------------------------------------------------------------------ watched functions
class _Calls(gast.NodeTransformer):
    """Puts the hook around what is called, in the function's own code."""

    def __init__(self, filename: str) -> None:
        self.filename = filename

    def visit_Call(self, node: gast.Call) -> gast.Call:
        self.generic_visit(node)
        if not (isinstance(node.func, gast.Name) and node.func.id in LEFT_ALONE):
            node.func = self._entered(node.func, node)
        return node

    def _entered(self, function: Any, node: Any) -> gast.Call:
        """What is called at a node instead of a function."""
        place = gast.Constant((self.filename, node.lineno), None)
        hook = gast.Call(gast.Name(ENTERED, gast.Load(), None, None), [function, place], [])
        for new in (place, hook, hook.func):
            gast.copy_location(new, node)
        return hook

    def visit_withitem(self, node: gast.withitem) -> gast.withitem:
        self.generic_visit(node)
        node.context_expr = self._given(MANAGED, node.context_expr)
        return node

    def visit_For(self, node: gast.For) -> gast.For:
        self.generic_visit(node)
        node.iter = self._given(ITERATED, node.iter)
        return node

    def visit_comprehension(self, node: gast.comprehension) -> gast.comprehension:
        self.generic_visit(node)
        node.iter = self._given(ITERATED, node.iter)
        return node

    def _given(self, hook: str, value: Any) -> gast.Call:
        """What a hook makes of a value."""
        made = gast.Call(gast.copy_location(gast.Name(hook, gast.Load(), None, None), value), [value], [])
        return gast.copy_location(made, value)

    def visit_FunctionDef(self, node: Any) -> Any:
        """The body is another function's own code."""
        node.decorator_list = [self._entered(self.visit(one), one) for one in node.decorator_list]
        return self.visit_Lambda(node)

    def visit_Lambda(self, node: Any) -> Any:
        node.args.defaults = [self.visit(one) for one in node.args.defaults]
        node.args.kw_defaults = [one and self.visit(one) for one in node.args.kw_defaults]
        return node

    def visit_ClassDef(self, node: gast.ClassDef) -> gast.ClassDef:
        return node

    visit_AsyncFunctionDef = visit_FunctionDef


def _watched(function: types.FunctionType) -> types.FunctionType:
    """A user's function whose calls are seen; the function itself where that cannot be."""
    found = _functions.get(function)
    if found is None or found.__defaults__ is not function.__defaults__:
        try:
            found = _functions[function] = _rewritten(function)
            _functions[found] = found
        except (SourceUnavailable, Fallback, SyntaxError, ValueError):
            found = function
    return found


def _rewritten(function: types.FunctionType) -> types.FunctionType:
    found = kept_or_made("watched", function, _compiled)
    if found is None:
        return function
    code, updates = found
    watched = bind(_with_own_constants(code, function.__code__), function, _HOOKS)
    watched.__imp2tf_updates__ = updates  # type: ignore[attr-defined]
    return watched


def _compiled(function: types.FunctionType) -> tuple[types.CodeType, Updates] | None:
    """The code of a function with the hook around what it calls, and its updates; None for a coroutine, which stays as it is."""
    source = read(function)
    node = source.node
    if isinstance(node, gast.AsyncFunctionDef) or has_await(node):
        return None
    if isinstance(node, gast.Lambda):
        node = lambda_to_function(node)
    updates = updates_of(node, function.__qualname__)
    calls = _Calls(source.filename)
    node.body = [calls.visit(statement) for statement in node.body]
    return compile_node(source, node, function, tuple(_HOOKS)), updates


_HOOKS = {ENTERED: _entered, MANAGED: _managed, ITERATED: _iterated}


def _with_own_constants(code: types.CodeType, original: types.CodeType) -> types.CodeType:
    """Functions that the code makes are made of the very code objects of the original."""
    own = [one for one in original.co_consts if isinstance(one, types.CodeType)]
    same = {one: next((its for its in own if its == one), one) for one in code.co_consts if isinstance(one, types.CodeType)}
    return code.replace(co_consts=tuple(same[one] if isinstance(one, types.CodeType) else one for one in code.co_consts))


def _watched_class(cls: Any) -> Any:
    """What makes an object of a user's class, watched; None where more than ``__init__`` makes it."""
    init = cls.__init__
    if type(cls) is not type or not has_plain_new(cls) or not is_user_function(init) or is_disabled(cls) or is_disabled(init):
        return None

    def make(*args: Any, **kwargs: Any) -> Any:
        made: Any = object.__new__(cls)
        _watched(init)(made, *args, **kwargs)
        return made

    return make


def _makes_manager(function: Any) -> bool:
    """Whether it is what ``contextlib.contextmanager`` has made of a function of the user."""
    is_made = isinstance(function, types.FunctionType) and function.__code__ is MADE_MANAGER
    return is_made and is_user_function(getattr(function, "__wrapped__", None))


def _watched_manager(function: Any) -> Any:
    return contextlib.contextmanager(_watched(function.__wrapped__))


# ------------------------------------------------------------------------------------------------ watchers
class _Watcher:
    """Base of the objects that see the calls of watched functions."""

    def entered(self, function: Any, place: tuple[str, int] = ("", 0)) -> Any:
        """What is called instead of `function`."""
        site: Site = (*place, name_of_callee(function))
        if is_disabled(function):
            return self.called(function, site)
        places = next((places for one, places in ITERATING.items() if function is one), None)
        if places is not None:
            return functools.partial(_iterating, self.called(function, site), places)
        if isinstance(function, types.FunctionType) and is_user_function(function):
            return _watched(function)
        if _makes_manager(function):
            return _watched_manager(function)
        inner = getattr(function, "__func__", None)
        if isinstance(function, types.MethodType) and _makes_manager(inner):
            return types.MethodType(_watched_manager(inner), function.__self__)
        if isinstance(function, types.MethodType) and isinstance(inner, types.FunctionType) and is_user_function(inner):
            return self.called(function, site) if is_disabled(inner) else types.MethodType(_watched(inner), function.__self__)
        if isinstance(function, functools.partial):
            return functools.partial(self.entered(function.func, place), *function.args, **function.keywords)
        if is_drop_in(function):
            return self.entered(function.__imp2tf_function__, place)
        if isinstance(function, type):
            return _watched_class(function) or self.called(function, site)
        method = inspect.getattr_static(type(function), "__call__", None)
        if isinstance(method, types.FunctionType) and is_user_function(method) and not is_disabled(method):
            return types.MethodType(_watched(method), function)
        found = self.called(function, site)
        return functools.partial(_with_layers, function, found) if has_layers(function) else found

    def called(self, function: Any, site: Site) -> Any:
        """What is called instead of a function that is not the user's."""
        raise NotImplementedError


class Recording(_Watcher):
    """Notes what calls return that no graph can look into."""

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self._lengths: dict[int, tuple[Any, int]] = {}  # of lists, before they were changed

    def ended(self) -> None:
        """The run is over: note which lists that somebody still has got longer or shorter."""
        for owner, before in self._lengths.values():
            if len(owner) != before and sys.getrefcount(owner) > OWN_REFERENCES:
                self.profile.resized.append(owner)
        self._lengths.clear()

    def entered(self, function: Any, place: tuple[str, int] = ("", 0)) -> Any:
        watched = super().entered(function, place)
        self.profile.updates |= getattr(watched, "__imp2tf_updates__", frozenset())  # methods show what their functions have
        self.profile.recursive |= _is_in(place, watched)
        return watched

    def called(self, function: Any, site: Site) -> Any:
        self.profile.seen.add(site)
        owner: Any = getattr(function, "__self__", None)
        if type(owner) in RESIZED and isinstance(function, types.BuiltinMethodType) and function.__name__ in RESIZING:
            self._lengths.setdefault(id(owner), (owner, len(owner)))
        if not is_disabled(function) and (
                is_tensorflow(function) or is_pure(function) or is_numpy_function(function) or is_left_to_python(function)):
            return function
        return functools.partial(self._call, function, site)

    def _call(self, function: Any, site: Site, /, *args: Any, **kwargs: Any) -> Any:
        touched = watched_arguments((*args, *kwargs.values()))
        result = function(*args, **kwargs)
        self.profile.note(site, kind_of(result, is_fresh(result)))
        if touched():
            self.profile.changing.add(site)
        return result


def _is_in(place: tuple[str, int], function: Any) -> bool:
    """Whether a place is in the text of a function."""
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    if code is None or code.co_filename != place[0] or place[1] <= code.co_firstlineno:
        return False
    return any(line == place[1] for _, _, line in code.co_lines())


History = Sequence[tuple[Site, Any]]


class Done(NamedTuple):
    """What a run has done that Python must not do again: its calls of Python and what they returned, and how often ``tf.print`` printed."""

    history: History
    printed: int = 0


def is_passed(site: Site, profile: Profile) -> bool:
    """Whether a `Replay` comes by a call: a watched run has, or the user's line shows it."""
    filename, line, name = site
    return site in profile.seen or re.search(rf"\b{re.escape(name)}\s*\(", linecache.getline(filename, line)) is not None


class Replay(_Watcher):
    """Gives the results of calls that a graph has made, in order; what follows them is called, and noted if there is a `recording`."""

    def __init__(self, done: Done, recording: Recording | None = None) -> None:
        self._recording = recording
        self._left = list(done.history)[::-1]
        self._printed = done.printed

    @property
    def is_over(self) -> bool:
        """Whether the program has made all the calls that the graph had made."""
        return not self._left and not self._printed

    def called(self, function: Any, site: Site) -> Any:
        if self._left and self._left[-1][0] == site:
            return self._result
        if function is tf.print and self._printed:
            return self._silent
        return function if self._recording is None or self._left else self._recording.called(function, site)

    def _silent(self, *args: Any, **kwargs: Any) -> None:
        self._printed -= 1

    def _result(self, *args: Any, **kwargs: Any) -> Any:
        result = self._left.pop()[1]
        if isinstance(result, Changed):
            return result.again((*args, *kwargs.values()))
        if isinstance(result, Raised):
            raise result.error
        return result
