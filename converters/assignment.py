"""Assignment, plain, augmented and by walrus, and ``del``.

    a, *b = xs      -->   _parts_1 = rt.unpack(xs, 2, 1); a = _parts_1[0]; b = _parts_1[1]
    self.n += 1     -->   _owner_1 = self; rt.set_attribute(_owner_1, 'n', rt.in_place('+', rt.get_attribute(_owner_1, 'n'), 1))
    (y := f(x))     -->   bind_y(rt.call(f, x)), with  def bind_y(given__): nonlocal y; y = given__; return given__
"""
from __future__ import annotations

import operator as python
from typing import Any

import gast
import tensorflow as tf

from imp2tf import container_items
from imp2tf.alternatives import over, raise_error
from imp2tf.arithmetic import run_operation
from imp2tf.attribute_writes import delete_attribute
from imp2tf.calls import call
from imp2tf.containers import new_list
from imp2tf.cursors import StaticIterator, certain
from imp2tf.endless import Endless
from imp2tf.errors import ForeignCall, NeedsValue, UnsupportedSyntax, fall_back
from imp2tf.generators import as_pushed
from imp2tf.growable import growable_length
from imp2tf.growable_items import item_of
from imp2tf.heap import contents
from imp2tf.in_place import in_place
from imp2tf.iterables import cursor, is_lazy, known_items
from imp2tf.iteration import drained
from imp2tf.kinds import is_container, is_user_function
from imp2tf.namespace import operator
from imp2tf.quote import GIVEN, quote, quote_expr
from imp2tf.region import stop_if
from imp2tf.rewrite import Converter
from imp2tf.targets import assign, constant
from imp2tf.values import NUMBER_TYPES, SKIP, Deferred, Growable, PyNumber, StandIn, Union, is_runtime

OPERATORS: dict[type, str] = {
    gast.Add: "+", gast.Sub: "-", gast.Mult: "*", gast.Div: "/", gast.FloorDiv: "//", gast.Mod: "%", gast.Pow: "**", gast.MatMult: "@",
    gast.BitAnd: "&", gast.BitOr: "|", gast.BitXor: "^", gast.LShift: "<<", gast.RShift: ">>",
}


class Assignments(Converter, lowers=(gast.Assign, gast.AnnAssign)):
    """``target = value`` and its annotated form."""

    def lower(self, node: Any) -> list[gast.stmt]:
        if node.value is None:
            return [gast.Pass()]
        value = self.rw.visit(node.value)
        targets = node.targets if isinstance(node, gast.Assign) else [node.target]
        if len(targets) == 1:
            return assign(self.rw, targets[0], value)
        held = self.rw.fresh("value")
        out = quote("held = value", node, held=held, value=value)
        for target in targets:
            out.extend(assign(self.rw, target, quote_expr("held", target, held=held)))
        return out


class AugmentedAssignments(Converter, lowers=(gast.AugAssign,)):
    """``target op= value``."""

    def lower(self, node: gast.AugAssign) -> list[gast.stmt]:
        op, target = constant(OPERATORS[type(node.op)]), node.target
        if isinstance(target, gast.Name):
            old = self.rw.visit(gast.copy_location(gast.Name(target.id, gast.Load(), None, None), target))
            return assign(self.rw, target, quote_expr("rt.in_place(op, old, value)", node, op=op, old=old, value=self.rw.visit(node.value)))
        owner = self.rw.fresh("owner")
        out = quote("owner = value", node, owner=owner, value=self.rw.visit(target.value))
        if isinstance(target, gast.Attribute):
            template = "rt.set_attribute(owner, key, rt.in_place(op, rt.get_attribute(owner, key), value))"
            return out + quote(template, node, owner=owner, key=constant(target.attr), op=op, value=self.rw.visit(node.value))
        key = self.rw.fresh("key")
        out += quote("key = value", node, key=key, value=self.rw.visit(target.slice))
        template = "rt.set_item(owner, key, rt.in_place(op, rt.get_item(owner, key), value))"
        return out + quote(template, node, owner=owner, key=key, op=op, value=self.rw.visit(node.value))


class Walrus(Converter, lowers=(gast.NamedExpr,)):
    """``(name := value)`` inside an expression."""

    def lower(self, node: gast.NamedExpr) -> gast.expr:
        bind, text = self.rw.fresh("bind"), node.target.id
        body = [*assign(self.rw, node.target, quote_expr(GIVEN, node)), *quote(f"return {GIVEN}", node)]
        changes = [text] if self.rw.kind_of(text) == "local" else []
        self.rw.frame.before.append(self.rw.function_of(bind, body, changes, node, [GIVEN]))
        return quote_expr("bind(value)", node, bind=bind, value=self.rw.visit(node.value))


class Deletions(Converter, lowers=(gast.Delete,)):
    """``del target``."""

    def lower(self, node: gast.Delete) -> list[gast.stmt]:
        out: list[gast.stmt] = []
        for target in node.targets:
            out.extend(self._delete(target))
        return out

    def _delete(self, target: Any) -> list[gast.stmt]:
        if isinstance(target, gast.Name):
            old = self.rw.visit(gast.copy_location(gast.Name(target.id, gast.Load(), None, None), target))
            return [*quote("old", target, old=[gast.Expr(old)]), *assign(self.rw, target, quote_expr("rt.unbound", target))]
        if isinstance(target, gast.Attribute):
            return quote("rt.delete_attribute(owner, attr)", target, owner=self.rw.visit(target.value), attr=constant(target.attr))
        if isinstance(target, gast.Subscript):
            return quote("rt.delete_item(owner, key)", target, owner=self.rw.visit(target.value), key=self.rw.visit(target.slice))
        return [stmt for one in target.elts for stmt in self._delete(one)]


@operator
def unpack(value: Any, count: int, star: int | None) -> Any:
    """The parts that ``a, b, *c = value`` assigns."""
    if isinstance(value, Union):
        return over(value, lambda one: tuple(unpack(one, count, star)))
    if isinstance(value, PyNumber) or not (is_runtime(value) or isinstance(value, StandIn) or _has_items(type(value))):
        return raise_error(_not_iterable(NUMBER_TYPES[value.kind]() if isinstance(value, PyNumber) else value))
    items = _asked_for(value, count) if star is None and _computes_items(value) else drained(value)
    if items is None:
        return _unpack_growing(value, count, star)
    least = count - (star is not None)
    if len(items) < least:
        return raise_error(ValueError(_not_enough(len(items), least, star is not None)))
    if star is None:
        if len(items) > count:
            return raise_error(_too_many(count, items))
        return items
    end = len(items) - (count - star - 1)
    return [*items[:star], new_list(items[star:end]), *items[end:]]


def _computes_items(value: Any) -> bool:
    return is_lazy(value) or isinstance(value, (Endless, StaticIterator))


def _asked_for(value: Any, count: int) -> list[Any]:
    """The items of a lazy iterable. Python asks for one more item than it needs, and so sees whether there are too many."""
    if as_pushed(value) is not None:
        return _all_of_generator(value, count)
    items: list[Any] = []
    found = cursor(value)
    while len(items) <= count:
        more = found.has_next()
        if more is False:
            break
        if more is not True and len(items) == count:
            stop_if(more, _too_many(count, [None] * (count + 1)))
            break
        if more is not True:
            stop_if(tf.logical_not(more), ValueError(_not_enough(len(items), count, False)))
        item = certain(found.next())
        if item is not SKIP:
            items.append(item)
    return items


def _all_of_generator(value: Any, count: int) -> list[Any]:
    """The items of a generator function, run to its end. (Python would stop it after one item too many.)"""
    items = known_items(value, "unpacking a generator")
    return items if len(items) <= count else fall_back(UnsupportedSyntax, "a generator has more items than are unpacked")


def _has_items(cls: type) -> bool:
    return hasattr(cls, "__iter__") or hasattr(cls, "__getitem__")


def _not_iterable(value: Any) -> TypeError:
    try:
        exec("() = value", {"value": value})
    except TypeError as error:  # this Python's own wording
        return TypeError(*error.args)
    raise AssertionError("it can be unpacked")


def _not_enough(found: int, least: int, starred: bool) -> str:
    return f"not enough values to unpack (expected {'at least ' if starred else ''}{least}, got {found})"


def _unpack_growing(value: Any, count: int, star: int | None) -> Any:
    """The parts of items of run-time length."""
    found = contents(call(list, value))
    if not isinstance(found, Growable):
        return fall_back(NeedsValue, f"unpacking a {type(value).__name__} of run-time length")
    size = tf.cast(growable_length(found), tf.int64)
    least = count - (star is not None)
    stop_if(size < least, ValueError(Deferred(_not_enough, (PyNumber("int", size), least, star is not None))))
    if star is None:
        stop_if(size > count, _too_many(count, [None] * (count + 1)))
        return [item_of(found, place) for place in range(count)]
    after = count - star - 1
    rest = new_list(item_of(found, slice(star, -after or None)))
    return [*(item_of(found, place) for place in range(star)), rest, *(item_of(found, place - after) for place in range(after))]


def _too_many(count: int, items: list[Any]) -> ValueError:
    try:
        exec(f"{', '.join('_' for _ in range(count))}{',' if count == 1 else ''} = items", {"items": [None] * len(items)})
    except ValueError as error:  # this Python's own wording
        return ValueError(*error.args)
    raise AssertionError("unreachable")


operator(in_place)
operator(delete_attribute)
@operator
def delete_item(owner: Any, key: Any) -> None:
    """``del owner[key]``."""
    if isinstance(owner, Union):
        over(owner, lambda one: delete_item(one, key))
    elif is_container(owner):
        container_items.delete_item(owner, key)
    elif is_user_function(getattr(type(owner), "__delitem__", None)):
        call(type(owner).__delitem__, owner, key)
    elif isinstance(owner, StandIn):
        owner.refuse()
    elif hasattr(type(owner), "__delitem__"):
        fall_back(ForeignCall, f"an element of a {type(owner).__name__} is deleted")
    else:
        run_operation(python.delitem, owner, key)
