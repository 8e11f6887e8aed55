"""Recipes of what containers hold: lists, dicts and sets of the run, lists of run-time length, and tables."""
from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from imp2tf.appended import elements_of
from imp2tf.compound_specs import holds_objects, may_be_lost
from imp2tf.errors import LostValue, fall_back
from imp2tf.growable import growable_length, has_one_shape, is_stackable, items_of, last_pushed, pushes_since, stacked_column
from imp2tf.places import Entries
from imp2tf.recipes import Build, Recipe, Recipes
from imp2tf.remembered import rows_of
from imp2tf.session import Session, resumed
from imp2tf.sources import Source
from imp2tf.specs import Dense, Number, constants_in, realizing
from imp2tf.tables import python_keys
from imp2tf.tf_compat import tape_may_record
from imp2tf.values import Growable, Table, Union

MOST_DROPPED = 16
FEW_OF_SEVERAL = 64  # elements of several tensors each, of which most are small numbers
GONE = object()


@dataclasses.dataclass(frozen=True)
class _Themselves:
    """The recipes of elements that are tensors of the program: the first ones, each of those between, and the last ones."""

    first: list[Recipe | None]
    between: Recipe | None
    last: list[Recipe | None]

    def among(self, there: list[Any], made: list[Any], build: Build) -> list[Any]:
        """All elements: those that were there, and of those that were made what is known to be another object."""
        new = made[len(there):]
        between = [self.between] * (len(new) - len(self.first) - len(self.last))
        return there + [one if recipe is None else recipe(build)
                        for one, recipe in zip(new, [*self.first, *between, *self.last], strict=True)]


class ElementRecipes(Recipes):
    """Recipes of the elements of containers."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._taken: set[int] = set()  # what leaves beside the list that it may be an element of
        self._lists: set[int] = set()  # the lists of run-time length that leave, if their elements have an identity

    def elements(self, found: Any) -> Recipe:
        """The recipe of a container's elements: a list, dict or set of the run."""
        with resumed(self.session):
            return self._elements(found)

    def changed_elements(self, found: Any, before: Any, owner: Source) -> Recipe:
        """As `elements`; those that are what the call found there are what the container holds by then, if another thread replaced them."""
        keys = list(found) if isinstance(found, dict) else range(len(found))
        kept = set(before) if isinstance(before, dict) else set(range(len(before)))
        values = [None if key in kept and before[key] is found[key] else self.add(found[key]) for key in keys]
        names = [self._key(key) for key in keys] if isinstance(found, dict) else []

        def items(build: Build) -> list[Any]:
            container = owner.fetch(build.args)
            return [container[key] if value is None else value(build) for key, value in zip(keys, values, strict=True)]

        def entries(build: Build) -> Any:
            container = owner.fetch(build.args)
            made = [(key if name is None else name(build), container.get(key, GONE) if value is None else value(build))
                    for key, name, value in zip(keys, names, values, strict=True)]
            return Entries([(key, one) for key, one in made if one is not GONE], list(before))

        return entries if isinstance(found, dict) else items

    def elements_again(self, found: Growable, owner: Source, memory: Any, before: Growable) -> Recipe:
        """As `elements`, of a list that was an input; elements that were there stay the objects that they are.

        Where the graph did nothing but append, the elements that were there `before` are known. Else an element with the value of one that
        was there is taken to be that one; not under a tape, which may follow it to where it was computed.
        """
        pushes = pushes_since(found, before)
        given = self._themselves(found, before) if pushes is None else None
        if given is not None:
            made_of = self.elements(found)
            return lambda build: given.among(list(owner.fetch(build.args)), made_of(build), build)
        pushed = [self.add(one) if id(one) in self.session.origins else None for one in last_pushed(found, pushes or 0)]
        if memory is not None and memory.kind == found.element.key():
            with resumed(self.session):
                columns = self._columns(found)

            def remembered(build: Build) -> Any:
                themselves = [one if one is None else one(build) for one in pushed]
                return memory.elements(owner.fetch(build.args), [build.tensors[index] for index in columns], pushes, themselves)

            return remembered
        recipe = self.elements(found)

        def make(build: Build) -> Any:
            there, made = list(owner.fetch(build.args)), recipe(build)
            if pushes is not None:
                new = made[len(made) - pushes:]
                return there + ([one if given is None else given(build) for one, given in zip(new, pushed)] if pushed else new)
            if tape_may_record():
                return made
            there = there[_dropped(there, made):]
            return [old if _is_as_before(old, new) else new for old, new in zip(there, made)] + made[len(there):]

        return make

    def _themselves(self, found: Growable, before: Growable | None = None) -> _Themselves | None:
        """Which elements are tensors of the program, those that were there `before` left out; None if nothing is known of any."""
        if len(found.handles) != 2 or not isinstance(found.element, Dense) or found.shifted:
            return None
        known = elements_of(found.handles[1], before.handles[1] if before is not None else None)
        if known is None:
            return None
        each = known.between if known.between is not None and known.between.graph is self.session.graph else None
        first, last = ([self._if_given(one, each) for one in part] for part in (known.first, known.last))
        between = self.add(each) if each is not None else None
        return _Themselves(first, between, last) if any((*first, between, *last)) else None

    def _if_given(self, tensor: tf.Tensor, each: tf.Tensor | None) -> Recipe | None:
        return self.add(tensor) if id(tensor) in self.session.origins or tensor is each else None

    def _elements(self, found: Any) -> Recipe:
        if isinstance(found, Growable):
            return self._growable(found)
        if isinstance(found, Table):
            return self._table(found)
        if isinstance(found, Union):
            tag, parts = self._index(found.tag), [self._elements(one) for one in found.alternatives]
            return lambda build: parts[int(build.tensors[tag].numpy())](build)
        if isinstance(found, dict):
            keys, values = list(found), [self._add(item) for item in found.values()]
            names = [self._key(key) for key in keys]
            if any(names):
                return lambda build: {key if name is None else name(build): value(build)
                                      for key, name, value in zip(keys, names, values, strict=True)}
            return lambda build: dict(zip(keys, [value(build) for value in values], strict=True))
        items = [self._add(item) for item in found]
        return lambda build: [item(build) for item in items]

    def _key(self, key: Any) -> Recipe | None:
        """The recipe of a key that was made in the trace; each run makes its own."""
        made = self.session.is_born(key) or (isinstance(key, tuple) and any(map(self._key, key)))
        return self._add(key) if made and not isinstance(key, (type, str, bytes)) else None

    def _table(self, found: Table) -> Recipe:
        keys, kind = self._index(found.keys), found.kind
        if found.values is None:
            return lambda build: python_keys(kind, build.tensors[keys])
        values = self._growable(found.values)
        return lambda build: dict(zip(python_keys(kind, build.tensors[keys]), values(build), strict=True))

    def _growable(self, found: Growable) -> Recipe:
        element = found.element
        if holds_objects(element):
            self._lists.add(id(found))
            self.session.kept.append(found)
            self._refuse_copies()
        if may_be_lost(element):
            fall_back(LostValue, "an object made anew in a branch or loop leaves the function in a list")
        if is_stackable(element):
            return self._stacked(found, element)
        rows, session = self._rows(found), self.session
        objects = {id(one): self._add(one) for one in constants_in(element) if session.is_born(one) or id(one) in session.sources}

        def make(build: Build) -> Any:
            with realizing({key: recipe(build) for key, recipe in objects.items()}):
                return [element.realize(iter(row)) for row in rows(build)]

        return make

    def _rows(self, found: Growable) -> Recipe:
        """The tensors of each element. Those of one shape leave the graph as one tensor; of others, the list leaves it."""
        columns = [_column_recipe(self._index(stacked_column(found, number)), None) if has_one_shape(component)
                   else _column_recipe(self._index(found.handles[number + 1]), component[0])
                   for number, component in enumerate(found.element.components())]
        length = self._index(growable_length(found))

        def rows(build: Build) -> Any:
            count = int(build.tensors[length].numpy())
            return zip(*[column(build, count) for column in columns], strict=True) if columns else [()] * count

        return rows

    def _stacked(self, found: Growable, element: Any) -> Recipe:
        """Elements of one shape leave the graph as one tensor, tuples as one for each of their parts."""
        columns = self._columns(found)
        if isinstance(element, Number):
            return lambda build: build.tensors[columns[0]].numpy().tolist()
        if isinstance(element, Dense):
            given = self._themselves(found)
            if given is None:
                return lambda build: rows_of(build.tensors[columns[0]])
            return lambda build: given.among([], rows_of(build.tensors[columns[0]]), build)
        return lambda build: [element.realize(iter(row)) for row in zip(*[rows_of(build.tensors[index]) for index in columns], strict=True)]

    def _columns(self, found: Growable) -> list[int]:
        """The tensors of all elements, which have the same shapes."""
        return [self._index(stacked_column(found, number)) for number in range(len(found.handles) - 1)]

    def _note_element(self, value: Any) -> None:
        """An element taken out of a list of run-time length is a copy, and so is the list: together they must not leave."""
        if id(value) in self.session.sealed:
            if self.session.changed_elements:
                fall_back(LostValue, "an element of a list of run-time length was changed and leaves the function")
            self._taken.add(id(value))
            self._refuse_copies()

    def _refuse_copies(self) -> None:
        shared = self.session.shared_elements
        several = len(self._taken) + len(self._lists) > 1
        if (several and (self._taken or shared)) or (self._lists and shared > 1):
            fall_back(LostValue, "an object in a list of run-time length leaves the function in two places")


def _column_recipe(index: int, dtype: tf.DType | None) -> Callable[[Build, int], list[tf.Tensor]]:
    """One of the tensors of each of so many elements, from a tensor of all of them or, with a dtype, from a TensorList."""
    if dtype is None:
        return lambda build, count: rows_of(build.tensors[index], FEW_OF_SEVERAL)
    return lambda build, count: items_of(build.tensors[index], dtype, count)


def _dropped(there: list[Any], made: list[Any]) -> int:
    """How many elements the front of a deque has lost, if it is a few and all others are as they were; else none."""
    counts = range(max(0, len(there) - len(made)), min(len(there), MOST_DROPPED))
    return next((count for count in counts if all(map(_is_as_before, there[count:], made))), 0)


def _is_as_before(old: Any, new: Any) -> bool:
    """Whether tensors, numbers or tuples of these have the same bits."""
    if type(old) is not type(new):
        return False
    if isinstance(old, tuple):
        return len(old) == len(new) and all(map(_is_as_before, old, new))
    if not isinstance(old, tf.Tensor):
        return repr(old) == repr(new)
    return old.dtype == new.dtype and old.dtype != tf.string and old.shape == new.shape and old.numpy().tobytes() == new.numpy().tobytes()
