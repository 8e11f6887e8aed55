"""Profiles left on disk for the next process (`imp2tf.disk_cache`), so that a function need not be watched there first.

A profile is of a function and of all files that its calls were seen in: where one of these has changed, it counts no more. Kinds that
name a class of the program are not kept, nor is a profile that holds one.
"""
from __future__ import annotations

import builtins
import json
import types
from typing import Any

import numpy as np
import tensorflow as tf

from imp2tf.disk_cache import code_key, disk_cache, text_digest
from imp2tf.results import Array, Dense, Kind, Nothing, Object, OneOf, Parts, Plain, Profile, Site

__all__ = ["keep_profile", "kept_profile"]

KIND = "profile"
SEQUENCES: dict[str, type] = {cls.__name__: cls for cls in (tuple, list)}
LIBRARIES = {"builtins": builtins, "numpy": np}


def keep_profile(function: Any, profile: Profile) -> None:
    """Save what is known of a function's calls, if the environment asks for it and all of it can be written down."""
    cache = disk_cache()
    key = _key(function) if cache is not None else None
    if cache is None or key is None:
        return
    files = {site[0] for site in (*profile.seen, *profile.kinds, *profile.changing) if site[0]}
    digests = {name: text_digest(name) for name in sorted(files)}
    kinds = [(site, _written(kind)) for site, kind in profile.kinds.items()]
    if all(digests.values()) and all(kind is not None for _, kind in kinds):
        found = {"files": digests, "kinds": kinds, "seen": sorted(profile.seen), "changing": sorted(profile.changing),
                 "updates": sorted(profile.updates), "recursive": profile.recursive}
        cache.save(KIND, key, json.dumps(found).encode())


def kept_profile(function: Any) -> Profile | None:
    """What an earlier process has saved of a function; None if it has not, or where a file that it was seen in is another by now."""
    cache = disk_cache()
    key = _key(function) if cache is not None else None
    content = cache.load(KIND, key) if cache is not None and key is not None else None
    found = json.loads(content) if content is not None else None
    if found is None or any(text_digest(name) != digest for name, digest in found["files"].items()):
        return None
    return Profile(
        kinds={_site(site): _read(kind) for site, kind in found["kinds"]}, seen=set(map(_site, found["seen"])),
        changing=set(map(_site, found["changing"])), updates={(owner, name, counts) for owner, name, counts in found["updates"]},
        recursive=found["recursive"], runs=1)


def _key(function: Any) -> str | None:
    code = getattr(function, "__func__", function)
    return code_key(code) if isinstance(code, types.FunctionType) else None


def _site(found: list[Any]) -> Site:
    file, line, name = found
    return file, line, name


def _written(kind: Kind) -> Any:
    """A kind as JSON has it; None if it cannot be."""
    if isinstance(kind, Nothing):
        return ["nothing"]
    if isinstance(kind, Plain):
        return ["plain", kind.name]
    if isinstance(kind, Dense):
        return ["array" if isinstance(kind, Array) else "tensor", kind.dtype.name, kind.rank]
    if isinstance(kind, OneOf):
        return _all_written("one of", kind.kinds)
    if isinstance(kind, Parts) and kind.cls in SEQUENCES.values():
        return _all_written(kind.cls.__name__, kind.parts)
    if isinstance(kind, Object) and kind.example is None:
        place = (kind.cls.__module__, kind.cls.__name__) if kind.cls is not None else (None, None)
        return ["object", *place, kind.dtype, kind.rank] if kind.cls is None or _class_at(*place) is kind.cls else None
    return None


def _class_at(module: str | None, name: str | None) -> Any:
    return getattr(LIBRARIES.get(module or ""), name or "", None)


def _all_written(what: str, kinds: tuple[Kind, ...]) -> Any:
    parts = [_written(kind) for kind in kinds]
    return None if None in parts else [what, *parts]


def _read(found: list[Any]) -> Kind:
    what, *rest = found
    if what == "nothing":
        return Nothing()
    if what == "plain":
        return Plain(rest[0])
    if what in ("array", "tensor"):
        return (Array if what == "array" else Dense)(tf.as_dtype(rest[0]), rest[1])
    if what == "object":
        module, name, dtype, rank = rest
        return Object(_class_at(module, name), dtype, rank)
    parts = tuple(map(_read, rest))
    return OneOf(parts) if what == "one of" else Parts(SEQUENCES[what], parts)
