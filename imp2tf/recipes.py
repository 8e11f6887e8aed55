"""Recipes: how a Python value is put together after a graph ran, from its tensors and the arguments of the call."""
from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import tensorflow as tf

from imp2tf.session import Session, resumed


class Build:
    """One building of recipes: the tensors of this run, the arguments of this call, and what is already built."""

    def __init__(self, tensors: Sequence[tf.Tensor], args: Sequence[Any]) -> None:
        self.tensors = tensors
        self.args = args
        self.made: dict[Hashable, Any] = {}


Recipe = Callable[[Build], Any]


class Recipes:
    """What all kinds of values share: the tensors that recipes need, and what is made once per building."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.tensors: list[tf.Tensor] = []
        self._pending: set[Hashable] = set()

    def add(self, value: Any) -> Recipe:
        """The recipe of a value as it is now."""
        with resumed(self.session):
            return self._add(value)

    def _add(self, value: Any) -> Recipe:
        raise NotImplementedError

    def _index(self, tensor: tf.Tensor) -> int:
        self.tensors.append(tensor)
        return len(self.tensors) - 1

    def _shared(self, value: Any, make: Callable[[], Any], parts: Callable[[], Recipe], fill: Callable[[Any, Any], None]) -> Recipe:
        """A recipe that makes an object once per build, before its parts, so that cycles and aliases come out right."""
        key = id(value)
        if key in self._pending:
            return lambda build: build.made[key]
        self._pending.add(key)
        inner = parts()
        self._pending.discard(key)

        def built(build: Build) -> Any:
            if key not in build.made:
                build.made[key] = make()
                fill(build.made[key], inner(build))
            return build.made[key]

        return built

    def _shared_by_id(self, value: Any, make: Recipe) -> Recipe:
        key = id(value)

        def once(build: Build) -> Any:
            if key not in build.made:
                build.made[key] = make(build)
            return build.made[key]

        return once


def same(value: Any) -> Recipe:
    """The recipe of a value that is the same at every run."""
    return lambda build: value

