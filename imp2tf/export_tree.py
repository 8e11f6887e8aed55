"""The object that a SavedModel loads as: what the saved object holds, under the user's names, and nothing of Python.

The objects of the user are mirrored, not saved themselves: a variable, table or asset stands at the same path (so that
checkpoints of the one can be read into the other), and beside it the variables that Python state has become.
"""
from __future__ import annotations

import collections
from collections.abc import Iterable, Sequence
from typing import Any

import tensorflow as tf

from imp2tf.places import Contents, Place, Tail

__all__ = ["Tree"]

Node: Any = tf.__internal__.tracking.AutoTrackable
Trackable: Any = tf.__internal__.tracking.Trackable
MAX_DEPTH = 12
TRACKING = ("_self_", "_tf_", "_keras_")  # what TensorFlow notes in objects that it tracks


class Tree:
    """Mirrors an object; `root` is what is saved."""

    def __init__(self, saved: Any) -> None:
        self.root = Node()
        self.nodes: dict[int, Any] = {id(saved): self.root}
        self.containers: dict[int, tuple[Any, str]] = {}  # the node and name at which a list or dict of the user stands
        self.held: set[int] = set()
        self.saved = [saved]
        if is_keras(saved):
            self._keras(self.root, saved)
        elif hasattr(saved, "__dict__"):
            self._fields(self.root, saved, 0)

    # ------------------------------------------------------------------------------------ mirroring
    def _fields(self, node: Any, owner: Any, depth: int) -> None:
        for name, value in list(vars(owner).items()):
            if not name.startswith(TRACKING):
                self._attach(node, name, value, depth + 1)

    def _attach(self, node: Any, name: str, value: Any, depth: int) -> None:
        mirrored = self._mirrored(node, name, value, depth)
        if mirrored is not None and not hasattr(node, name):
            setattr(node, name, mirrored)

    def _mirrored(self, node: Any, name: str, value: Any, depth: int) -> Any:
        """What stands for a value in the tree, None where it holds nothing that is saved."""
        if id(value) in self.nodes:
            return self.nodes[id(value)]
        if depth > MAX_DEPTH or isinstance(value, (str, bytes, int, float, type, tf.Tensor)):
            return None
        if isinstance(value, (list, tuple, dict)):
            return self._container(node, name, value, depth)
        if is_keras(value):
            return self._node(value, lambda made: self._keras(made, value))
        if isinstance(value, Trackable) and not isinstance(value, tf.Module):
            self.held.add(id(value))
            return value if type(value).__module__.startswith("tensorflow.") else None
        if not _is_of_user(value) and not isinstance(value, tf.Module):
            return None
        return self._node(value, lambda made: self._fields(made, value, depth))

    def _node(self, value: Any, fill: Any) -> Any:
        made = self.nodes[id(value)] = Node()
        self.saved.append(value)
        fill(made)
        if vars(made).keys() - {"_self_setattr_tracking"}:
            return made
        return None

    def _container(self, node: Any, name: str, value: Any, depth: int) -> Any:
        self.containers[id(value)] = (node, name)
        self.saved.append(value)
        items = list(value.items()) if isinstance(value, dict) else list(enumerate(value))
        made = [(key, self._mirrored(node, f"{name}_{key}", item, depth + 1)) for key, item in items]
        if not any(one is not None for _, one in made):
            return None
        if isinstance(value, dict):
            return {str(key): one for key, one in made if one is not None}
        if all(one is not None for _, one in made):
            return [one for _, one in made]
        return {str(key): one for key, one in made if one is not None}

    def _keras(self, node: Any, layer: Any) -> None:
        """A layer, model, optimizer or metric: its variables, as `Model.export` keeps them."""
        for name in ("variables", "trainable_variables", "non_trainable_variables"):
            found = [getattr(one, "value", one) for one in getattr(layer, name, ())]
            found = [one for one in found if isinstance(one, tf.Variable)]
            if found:
                setattr(node, name, found)
            self.held.update(map(id, found))

    # ------------------------------------------------------------------------------------ what is added
    def keep(self, place: Place, labels: Sequence[str], variables: Sequence[tf.Variable]) -> list[str]:
        """Give the variables of a place a name near its owner; the names."""
        node, name = self._home(place)
        names = []
        for label, variable in zip(labels, variables, strict=True):
            rest = label[len(str(place.key)):] if isinstance(place.key, str) and label.startswith(place.key) else label
            wanted = "_".join(part for part in (name, rest.strip("_")) if part) or "state"
            names.append(self._free(node, wanted))
            setattr(node, names[-1], variable)
            self.held.add(id(variable))
        return names

    def _home(self, place: Place) -> tuple[Any, str]:
        if isinstance(place, (Contents, Tail)):
            return self.containers.get(id(place.owner), (self.root, "state"))
        node = self.nodes.get(id(place.owner), self.root)
        if node is not self.root and node not in self._reachable():
            self._adopt(node, type(place.owner).__name__.lower())
        return node, str(place.key)

    def _reachable(self) -> list[Any]:
        found: list[Any] = []
        pending = [self.root]
        while pending:
            node = pending.pop()
            if any(node is one for one in found):
                continue
            found.append(node)
            for value in vars(node).values():
                inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else [value]
                pending.extend(one for one in inside if isinstance(one, Node) and not isinstance(one, (list, dict)))
        return found

    def _adopt(self, node: Any, name: str) -> None:
        setattr(self.root, self._free(self.root, name), node)

    def _free(self, node: Any, name: str) -> str:
        wanted, number = name, 0
        while hasattr(node, wanted):
            number += 1
            wanted = f"{name}_{number}"
        return wanted

    def hold(self, values: Iterable[Any]) -> None:
        """Keep what graphs use and the tree does not hold yet."""
        loose = []
        for value in values:
            if isinstance(value, (list, tuple, dict)):  # TensorFlow's, around objects of the user
                continue
            if isinstance(value, Trackable) and id(value) not in self.held and type(value).__module__.startswith("tensorflow."):
                self.held.add(id(value))
                loose.append(value)
        if loose:
            setattr(self.root, self._free(self.root, "captured"), loose)

    def name_variables(self, variables: Sequence[tf.Variable]) -> None:
        """All variables in use, and those that are trained, as lists of the root."""
        for name, found in (("variables", list(variables)), ("trainable_variables", [one for one in variables if one.trainable])):
            if found and not hasattr(self.root, name):
                setattr(self.root, name, found)


def is_keras(value: Any) -> bool:
    """Whether a value is Keras's, by its class or one that it is derived from."""
    return any(cls.__module__.startswith("keras.") for cls in type(value).__mro__)


def _is_of_user(value: Any) -> bool:
    module = type(value).__module__.partition(".")[0]
    return hasattr(value, "__dict__") and module not in ("tensorflow", "keras", "numpy", "imp2tf", "builtins", "functools", "types") and (
        not isinstance(value, (type, collections.abc.Iterator)))
