"""The names a program has bound so far at the place being written, and of what kind their values are."""
from __future__ import annotations

from dataclasses import dataclass, field

# Kinds of value that rules speak of: tensors, Python scalars, containers, callables.
TENSORS = ("f", "i", "b", "v")
PYTHON = ("int", "float", "bool", "str")
CONTAINERS = ("lt", "li", "tup", "dict")
UNKNOWN = "any"


@dataclass
class Scope:
    """Kind by name. `maybe` holds names bound on some paths only; `fixed` names that may not be bound again."""

    kinds: dict[str, str] = field(default_factory=dict)
    maybe: set[str] = field(default_factory=set)
    fixed: set[str] = field(default_factory=set)

    def of_kind(self, kind: str) -> list[str]:
        """Names that are bound for sure to a value of this kind."""
        return [name for name, one in self.kinds.items() if one == kind and name not in self.maybe]

    def bound(self) -> list[str]:
        """Names that are bound for sure, to whatever."""
        return [name for name in self.kinds if name not in self.maybe]

    def bind(self, name: str, kind: str) -> None:
        """After ``name = ...``."""
        self.kinds[name] = kind
        self.maybe.discard(name)

    def unbind(self, name: str) -> None:
        """After ``del name``."""
        self.kinds.pop(name, None)
        self.maybe.discard(name)

    def copy(self) -> Scope:
        """For a block that may or may not run."""
        return Scope(dict(self.kinds), set(self.maybe), set(self.fixed))

    def join(self, *paths: Scope) -> None:
        """Become what holds after one of `paths` was taken, one does not know which."""
        names = {name: None for path in paths for name in path.kinds}
        kinds = {name: [path.kinds[name] for path in paths if name in path.kinds] for name in names}
        self.maybe = {name for name in names
                      if len(kinds[name]) < len(paths) or any(name in path.maybe for path in paths)}
        self.kinds = {name: found[0] if len(set(found)) == 1 else UNKNOWN for name, found in kinds.items()}
