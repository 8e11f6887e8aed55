"""Compound statements: branches, loops, try, with, match and nested functions, with jumps anywhere."""
from __future__ import annotations

import dataclasses
from collections.abc import Callable

from tests.fuzz.scope import Scope
from tests.fuzz.writing import CannotFill, Writer

Block = Callable[[Writer], None]
BLOCK_SHARE = 0.4
MAX_INDENT = 4
JUMPS_IN_LOOPS, JUMPS_OUTSIDE = 0.25, 0.12
NOT_NONLOCAL = ("box", "G", "G_T")
LOOP_COUNTERS = ("ka", "kb", "kc", "kd", "ke", "kf")


def write_body(w: Writer, statements: int) -> bool:
    """Write up to this many statements; whether the end can be reached."""
    for _ in range(statements):
        w.budget -= 1
        if not (w.budget > 0 and w.indent <= MAX_INDENT and w.rng.random() < BLOCK_SHARE and _write_block(w)):
            w.line(w.statement())
    if w.indent > 1 and w.rng.random() < (JUMPS_IN_LOOPS if w.loops else JUMPS_OUTSIDE):
        w.line(_jump(w))
        return False
    return True


def _write_block(w: Writer) -> bool:
    """Write a random block; False, and nothing written, if names that it needs are missing."""
    state = dataclasses.replace(w, lines=list(w.lines), scope=w.scope.copy())
    try:
        _BLOCKS[w.pick(_WEIGHTS)](w)
    except CannotFill:
        w.lines, w.scope, w.indent, w.loops = state.lines, state.scope, state.indent, state.loops
        return False
    return True


def _jump(w: Writer) -> str:
    choices = {"return {" + w.result + "}": 1.5, "raise {error}": 0.6, "return": 0.2 if w.result == "any" else 0}
    if w.loops:
        choices |= {"break": 3.0, "continue": 3.0}
    return w.checked(w.pick(choices))


def write_return(w: Writer) -> None:
    """The last statement: what is left in the names is returned, so that it is compared."""
    names = w.scope.bound()
    if w.result != "any":
        w.line(w.checked("return {" + w.result + "}"))
    elif w.rng.random() < 0.6:
        w.line(f"return {', '.join(w.rng.sample(names, min(len(names), 4)))}")
    else:
        pairs = ", ".join(f"{name}={name}" for name in w.rng.sample(names, min(len(names), 5)) if name != "box")
        w.line(f"return dict({pairs})")


def _branch(w: Writer, most: int = 3, before: str | None = None) -> list[Scope]:
    """An indented block; the scope at its end, or nothing if the end cannot be reached."""
    outer, w.scope = w.scope, w.scope.copy()
    with w.indented():
        if before:
            w.line(before)
        alive = write_body(w, w.rng.randint(1, most))
    inner, w.scope = w.scope, outer
    return [inner] if alive else []


def _join(w: Writer, paths: list[Scope]) -> None:
    if paths:
        w.scope.join(*paths)


# ------------------------------------------------------------------------------------------------ branches
def _if(w: Writer) -> None:
    w.line(w.checked("if {cond}:", " pass"))
    paths = _branch(w)
    while w.rng.random() < 0.25:
        w.line(w.checked("elif {cond}:", " pass", "if 0: pass\n"))
        paths += _branch(w, 2)
    if w.rng.random() < 0.6:
        w.line("else:")
        paths += _branch(w)
    else:
        paths.append(w.scope.copy())
    _join(w, paths)


_CASES = {
    "case 0:": 2.0, "case 1 | 2:": 1.0, "case None:": 2.0, 'case "low":': 1.0, "case str():": 1.0, "case int():": 1.0, "case float():": 0.7,
    "case ({+any}, {+any}):": 1.5, "case [{+any}, *{+any}]:": 1.0, 'case {{"a": {+any}}}:': 1.0, "case {+any} if {cond}:": 1.5,
    "case Box(count=1):": 0.5, "case Box(total={+f}):": 0.5, "case True:": 0.4, "case tf.Tensor():": 1.0, "case []:": 0.5,
}


def _match(w: Writer) -> None:
    w.line(w.checked("match {" + w.rng.choice(["any", "int", "tup", "=any", "dict", "i", "str", "li"]) + "}:", " case _: pass"))
    paths = [w.scope.copy()]
    with w.indented():
        for _ in range(w.rng.randint(1, 3)):
            outer, w.scope = w.scope, w.scope.copy()
            w.line(w.checked(w.pick(_CASES), " pass", "match 0: "))
            paths += _branch(w, 2)
            w.scope = outer
        if w.rng.random() < 0.5:
            w.line("case _:")
            paths += _branch(w, 2)
    _join(w, paths)


# ------------------------------------------------------------------------------------------------ loops
def _loop(w: Writer, head: str, counting: str | None = None) -> None:
    """A loop with this head; `counting` is its first statement. Names bound inside are bound perhaps afterwards."""
    w.line(head)
    w.loops += 1
    paths = _branch(w, 4, counting)
    w.loops -= 1
    _join(w, [w.scope.copy(), *paths])
    if w.rng.random() < 0.2:
        w.line("else:")
        _join(w, [w.scope.copy(), *_branch(w, 2)])


def _counter(w: Writer) -> str:
    name = next((name for name in LOOP_COUNTERS if name not in w.scope.fixed), "")
    if not name:
        raise CannotFill("a loop counter")
    return name


def _while(w: Writer) -> None:
    count, most = _counter(w), w.rng.randint(1, 4)
    kind = w.rng.choice(["int", "i"])
    w.line(f"{count} = 0" if kind == "int" else f"{count} = tf.constant(0)")
    w.scope.bind(count, kind)
    w.scope.fixed.add(count)
    head = w.rng.choice([f"while {count} < {most} and ({{cond}}):", f"while ({{cond}}) and {count} < {most}:", f"while {count} < {most}:"])
    _loop(w, w.checked(head, " pass"), f"{count} += 1")
    w.scope.fixed.discard(count)


def _while_true(w: Writer) -> None:
    count, most = _counter(w), w.rng.randint(1, 4)
    w.line(f"{count} = 0")
    w.scope.bind(count, "int")
    w.scope.fixed.add(count)
    _loop(w, w.checked(w.rng.choice(["while True:", "while {cond}:"]), " pass"),
          f"{count} += 1\n{'    ' * (w.indent + 1)}if {count} > {most}:\n{'    ' * (w.indent + 2)}break")
    w.scope.fixed.discard(count)


_FOR_HEADS = {
    "for {+f} in {iter_f}:": 4.0, "for {+i} in {iter_i}:": 3.0, "for {+int} in {iter_int}:": 4.0, "for _ in range({trip}):": 2.0,
    "for {+int}, {+f} in enumerate({iter_f}):": 1.5, "for {+f}, {+int} in zip({iter_f}, {iter_int}):": 1.0,
    "for {+str}, {+any} in {=dict}.items():": 0.0, "for {+any} in list({=dict}.items()):": 1.0, "for {+str} in ({str}, {str}):": 0.5,
    "for {+f}, {+f} in zip({iter_f}, {iter_f}):": 0.7, "for {+any} in ({any}, {any}):": 1.0, "for {+int}, {+f} in enumerate({iter_f}, {small}):": 0.4,
    "for {+str}, {+any} in list({=dict}.items()):": 0.7, "for {+str} in list({=dict}):": 0.4, "for {+any} in list({=dict}.values()):": 0.4,
    "for {+int} in [k for k in range(4) if k != {int}]:": 0.4, "for {+f}, {+int} in [{tup}, {tup}]:": 0.6, "for {+any} in {any}:": 0.1,
    "for {+str} in {str}[:3]:": 0.3,
}


def _for(w: Writer) -> None:
    before = w.scope.copy()
    _loop(w, w.checked(w.pick(_FOR_HEADS), " pass"))
    w.scope.join(before, w.scope.copy())


# ------------------------------------------------------------------------------------------------ try and with
HANDLED = ("print(type(error).__name__, error)",) * 3 + ("print(error, type(error.__context__).__name__)",)
_HANDLERS = {
    "except ValueError as error:": 2.0, "except Odd as error:": 1.5, "except (ValueError, KeyError):": 1.0, "except Exception as error:": 1.5,
    "except Odd:": 1.0, "except RuntimeError:": 0.5, "except (TypeError, AttributeError):": 0.5,
    "except tf.errors.InvalidArgumentError:": 0.3, "except AssertionError as error:": 0.7, "except UnboundLocalError:": 0.3,
    "except IndexError:": 0.7, "except (Odd, ValueError) as error:": 2.0, "except ZeroDivisionError as error:": 0.5,
}


def _try(w: Writer) -> None:
    w.line("try:")
    before = w.scope.copy()
    body = _branch(w)
    w.scope.join(before, *body)
    unsure, paths = w.scope.copy(), [*body]
    handlers = [] if w.rng.random() < 0.2 else list(dict.fromkeys(w.pick(_HANDLERS) for _ in range(w.rng.choice([1, 1, 2]))))
    for head in handlers:
        w.line(head)
        paths += _branch(w, 2, w.rng.choice(HANDLED) if "error:" in head else 'print("caught")')
    if handlers and body and w.rng.random() < 0.25:
        w.line("else:")
        w.scope = body[0]
        paths += _branch(w, 2)
        w.scope = unsure
    if not handlers or w.rng.random() < 0.25:
        w.line("finally:")
        _branch(w, 2)
    _join(w, paths)
    if any("error:" in head for head in handlers) and "error" not in w.scope.kinds:
        w.scope.kinds["error"] = "any"    # unbound, unless it was bound before
        w.scope.maybe.add("error")


_MANAGERS = {
    'with Note("{trip_const}"):': 2.0, 'with Note("n", swallow=True):': 1.0, 'with Note({str}, swallow={bool}) as note:': 0.5,
    'with managed({str}):': 1.0, 'with tf.name_scope("s"):': 1.0, "with contextlib.suppress(Odd, ValueError):": 1.0,
    'with Note("a"), Note("b"):': 0.5, 'with tf.device("CPU:0"):': 0.3, "with contextlib.nullcontext({f}) as {+f}:": 0.5,
    "with contextlib.ExitStack():": 0.2,
}


def _with(w: Writer) -> None:
    before = w.scope.copy()
    w.line(w.checked(w.pick(_MANAGERS), " pass"))
    _join(w, [before, *_branch(w)])


def _tape(w: Writer) -> None:
    source = w.name("f")
    w.line(f"with tf.GradientTape({w.rng.choice(['', '', 'persistent=True'])}) as tape:")
    before = w.scope.copy()
    with w.indented():
        w.line(f"tape.watch({source})")
        loops, w.loops = w.loops, 0
        write_body(w, w.rng.randint(1, 2))
        w.loops = loops
        target = w.new_name("f")
        w.line(f"{target} = {w.expression('f')}")
        w.scope.bind(target, "f")
    gradient = w.new_name("any")
    w.line(f"{gradient} = tape.gradient({target}, {source})")
    w.scope.bind(gradient, "any")
    _join(w, [before, w.scope.copy()])


# ------------------------------------------------------------------------------------------------ functions
def _function(w: Writer) -> None:
    """A nested function from f to f that reads the names around it and writes some of them."""
    name = w.new_name("fn")
    outer = [one for one in w.scope.bound() if one not in (*NOT_NONLOCAL, *w.scope.fixed, name)]
    written = w.rng.sample(outer, min(len(outer), w.rng.choice([0, 0, 1, 2])))
    w.line(f"def {name}(z{w.rng.choice(['', ', k=1', ', *rest'])}):")
    inside = w.scope.copy()
    inside.unbind(name)
    inside.bind("z", "f")
    inside.fixed |= set(inside.kinds) - set(written)
    inner = Writer(w.rng, w.language, inside, ("pa", "pb", "pc"), "f", min(w.budget, 4), w.indent + 1)
    if written:
        inner.line(f"nonlocal {', '.join(written)}")
    write_body(inner, w.rng.randint(1, 3))
    write_return(inner)
    w.lines += inner.lines
    w.budget -= 2
    w.scope.bind(name, "fn")


_BLOCKS: dict[str, Block] = {
    "if": _if, "for": _for, "while": _while, "while true": _while_true, "try": _try, "with": _with, "match": _match, "tape": _tape,
    "function": _function,
}
_WEIGHTS = {"if": 9.0, "for": 6.0, "while": 3.5, "while true": 1.2, "try": 3.5, "with": 1.2, "match": 1.2, "tape": 0.6, "function": 1.5}
