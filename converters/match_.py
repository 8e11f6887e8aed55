"""``match`` becomes a chain of ``if`` before anything else looks at it.

    match subject:                _subject_1 = subject
        case ('scale', k):   -->  _match_2 = rt.match(_subject_1, pattern); _case_3 = rt.matched(_match_2)
            body                  if _case_3: k = rt.captured(_match_2, 'k')
                                  if _case_3: body
"""
from __future__ import annotations

import collections.abc
import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any

import gast
import tensorflow as tf

from imp2tf.attributes import get_attribute, has_attribute
from imp2tf.calls import call
from imp2tf.containers import listed, new, new_list, static
from imp2tf.errors import NeedsValue, fall_back
from imp2tf.forcing import example_or_none
from imp2tf.iterables import known_items
from imp2tf.iteration import items_of_array
from imp2tf.kinds import is_container, is_user_function
from imp2tf.namespace import operator
from imp2tf.operations import compare_operation, is_same, truth_as_number, truth_of
from imp2tf.quote import RUNTIME, located, quote, quote_expr
from imp2tf.region import select
from imp2tf.rewrite import Converter
from imp2tf.targets import constant
from imp2tf.values import Deferred, StandIn, Union, python_bool

Captures = dict[str, Any]


class Matches(Converter, desugars=(gast.Match,)):
    """``match`` statements."""

    def desugar(self, node: gast.Match) -> list[gast.stmt]:
        subject = self.rw.fresh("subject")
        return [*quote("subject = value", node, subject=subject, value=node.subject), *self._cases(node.cases, subject, node)]

    def _cases(self, cases: list[Any], subject: str, at: gast.AST) -> list[gast.stmt]:
        if not cases:
            return [located(gast.Pass(), at)]
        case, others = cases[0], cases[1:]
        found, holds = self.rw.fresh("match"), self.rw.fresh("case")
        template = f"found = {RUNTIME}.match(subject, pattern)\nholds = {RUNTIME}.matched(found)"
        out = quote(template, case.pattern, found=found, holds=holds, subject=subject, pattern=pattern_code(case.pattern))
        names = captured_names(case.pattern)
        inside = [
            quote(f"target = {RUNTIME}.captured(found, text)", case.pattern, target=one, found=found, text=constant(one))[0]
            for one in names
        ]
        if case.guard is not None:
            inside += quote("holds = guard", case.guard, holds=holds, guard=case.guard)
        if inside:
            out.append(located(gast.If(quote_expr("holds", case.pattern, holds=holds), inside, []), case.pattern))
        test = quote_expr("holds", case.pattern, holds=holds)
        out.append(located(gast.If(test, case.body, self._cases(others, subject, at)), case.pattern))
        return out


def captured_names(pattern: Any) -> list[str]:
    """The names that a pattern binds."""
    found = [getattr(one, "name", None) or getattr(one, "rest", None) for one in gast.walk(pattern)]
    return sorted({one for one in found if isinstance(one, str)})


def pattern_code(pattern: Any) -> gast.expr:
    """An expression that makes the run-time form of a pattern: nested tuples that begin with the pattern's kind."""
    parts: list[gast.expr] = [constant(type(pattern).__name__)]
    if isinstance(pattern, gast.MatchValue):
        parts.append(pattern.value)
    elif isinstance(pattern, gast.MatchSingleton):
        parts.append(constant(pattern.value))
    elif isinstance(pattern, (gast.MatchSequence, gast.MatchOr)):
        parts.extend(pattern_code(one) for one in pattern.patterns)
    elif isinstance(pattern, gast.MatchStar):
        parts.append(constant(pattern.name))
    elif isinstance(pattern, gast.MatchAs):
        parts.extend([constant(pattern.name), pattern_code(pattern.pattern) if pattern.pattern is not None else constant(None)])
    elif isinstance(pattern, gast.MatchMapping):
        parts.extend(
            [constant(pattern.rest), gast.Tuple(pattern.keys, gast.Load()), _tuple([pattern_code(one) for one in pattern.patterns])]
        )
    else:
        positional = _tuple([pattern_code(one) for one in pattern.patterns])
        names = _tuple([constant(one) for one in pattern.kwd_attrs])
        parts.extend([pattern.cls, positional, names, _tuple([pattern_code(one) for one in pattern.kwd_patterns])])
    return located(_tuple(parts), pattern)


def _tuple(items: list[Any]) -> gast.Tuple:
    return gast.Tuple(items, gast.Load())


# ------------------------------------------------------------------------------------------------ run time
@dataclasses.dataclass(frozen=True)
class Found:
    """The result of matching: whether the pattern matched (a bool or a scalar bool tensor), and the names that it captured."""

    holds: Any
    captures: Captures


@operator
def match(subject: Any, pattern: tuple[Any, ...]) -> Found:
    """Match a subject against a pattern."""
    if isinstance(subject, Union):
        fall_back(NeedsValue, "match on a value of several kinds")
    return _match(subject, pattern)


@operator
def matched(found: Found) -> Any:
    """Whether the pattern matched."""
    return python_bool(found.holds)


@operator
def captured(found: Found, name: str) -> Any:
    """What a name of the pattern captured."""
    return found.captures.get(name)


def _match(subject: Any, pattern: tuple[Any, ...]) -> Found:
    kind, *parts = pattern
    return _KINDS[kind](subject, *parts)


def _value(subject: Any, value: Any) -> Found:
    return Found(truth_of(compare_operation("==", subject, value)), {})


def _singleton(subject: Any, value: Any) -> Found:
    return Found(truth_of(is_same(subject, value)), {})


def _as(subject: Any, name: str | None, pattern: Any) -> Found:
    found = _match(subject, pattern) if pattern is not None else Found(True, {})
    return Found(found.holds, {**found.captures, name: subject} if name else found.captures)


def _or(subject: Any, *patterns: Any) -> Found:
    for pattern in patterns[:-1]:
        found = _match(subject, pattern)
        if found.holds is True:
            return found
        if not isinstance(found.holds, bool):
            return _or_at_run_time(subject, patterns)
    return _match(subject, patterns[-1])


def _or_at_run_time(subject: Any, patterns: tuple[Any, ...]) -> Found:
    found = [_match(subject, pattern) for pattern in patterns]
    if any(one.captures for one in found):
        fall_back(NeedsValue, "an or-pattern that captures, decided at run time")
    holds = [tf.convert_to_tensor(one.holds) for one in found]
    return Found(tf.reduce_any(tf.stack(holds)), {})


def _all(tests: list[Callable[[], Found]]) -> Found:
    """All of several patterns, in order, until one fails."""
    holds: Any = True
    captures: Captures = {}
    for test in tests:
        if isinstance(holds, bool):
            found = test()
            holds = found.holds
        else:
            found = test()
            holds = truth_of(select(holds, lambda found=found: truth_as_number(python_bool(found.holds)), lambda: False))  # type: ignore[misc]
        if holds is False:
            return Found(False, {})
        captures.update(found.captures)
    return Found(holds, captures)


def _tests(items: Sequence[Any], patterns: Sequence[Any]) -> list[Callable[[], Found]]:
    return [functools.partial(_match, item, one) for item, one in zip(items, patterns, strict=True)]


def _sequence(subject: Any, *patterns: Any) -> Found:
    items = _items(subject)
    if items is None:
        return Found(False, {})
    star = next((i for i, one in enumerate(patterns) if one[0] == "MatchStar"), None)
    if star is None:
        if len(items) != len(patterns):
            return Found(False, {})
        return _all(_tests(items, patterns))
    after = len(patterns) - star - 1
    if len(items) < len(patterns) - 1:
        return Found(False, {})
    found = _all([*_tests(items[:star], patterns[:star]), *_tests(items[len(items) - after:], patterns[star + 1:])])
    name = patterns[star][1]
    return Found(found.holds, {**found.captures, name: new_list(items[star: len(items) - after])} if name else found.captures)


def _items(subject: Any) -> list[Any] | None:
    """The items of what a sequence pattern may match, else None."""
    held = subject if is_container(subject) else listed(subject)
    example = _example(subject)
    if not isinstance(example, collections.abc.Sequence) or isinstance(example, (str, bytes, bytearray)):
        return None
    if isinstance(subject, Deferred):
        items = items_of_array(subject)
        return fall_back(NeedsValue, f"match on {subject!r}") if items is None else items
    if is_user_function(getattr(type(subject), "__getitem__", None)):
        return known_items(subject, "match")
    return static(held, "match") if held is not None else list(subject)


def _example(subject: Any) -> Any:
    """A value of the class of the subject."""
    if isinstance(subject, Union):
        fall_back(NeedsValue, "match on a value of several kinds")
    if isinstance(subject, Deferred):
        example = example_or_none(subject)
        return fall_back(NeedsValue, f"match on {subject!r}") if example is None else example
    if listed(subject) is not None:
        return ()
    return subject.refuse() if isinstance(subject, StandIn) else subject


def _mapping(subject: Any, rest: str | None, keys: tuple[Any, ...], patterns: tuple[Any, ...]) -> Found:
    if not isinstance(_example(subject), collections.abc.Mapping):
        return Found(False, {})
    if not isinstance(subject, dict):
        fall_back(NeedsValue, f"match on a mapping that is a {type(subject).__name__}")
    items = static(subject, "match")
    if any(key not in items for key in keys):
        return Found(False, {})
    found = _all(_tests([items[key] for key in keys], patterns))
    others = new({key: value for key, value in items.items() if key not in keys})
    return Found(found.holds, {**found.captures, rest: others} if rest else found.captures)


def _class(subject: Any, cls: type, positional: tuple[Any, ...], names: tuple[str, ...], patterns: tuple[Any, ...]) -> Found:
    if isinstance(subject, Union):
        fall_back(NeedsValue, "match on a value of several kinds")
    if not call(isinstance, subject, cls):
        return Found(False, {})
    if positional and cls in (int, float, bool, str, bytes, list, tuple, dict, set, frozenset):
        return _match(subject, positional[0])
    arguments = dict(zip(getattr(cls, "__match_args__", ()), positional, strict=False))
    arguments.update(zip(names, patterns, strict=True))
    if any(not has_attribute(subject, name) for name in arguments):
        return Found(False, {})
    return _all([lambda name=name, one=one: _match(get_attribute(subject, name), one) for name, one in arguments.items()])  # type: ignore[misc]


_KINDS: dict[str, Callable[..., Found]] = {
    "MatchValue": _value,
    "MatchSingleton": _singleton,
    "MatchAs": _as,
    "MatchOr": _or,
    "MatchSequence": _sequence,
    "MatchMapping": _mapping,
    "MatchClass": _class,
}
