"""The grammar: templates of expressions and simple statements, with weights.

A hole ``{f}`` is filled with an expression of that kind, ``{=f}`` with a name of the kind, ``{~f}`` with one that may be
bound again, ``{+f}`` with a name that the template binds to a value of that kind. Kinds: f i b v are tensors (float32, int32 and bool scalars, a float32
vector); int float bool str are Python's; lt and li are lists of float tensors and of ints; tup is a pair (f, int); dict has
the keys "a" (f) and "b" (int); fn is a function from f to f; box is an object of the program's class; cond is
anything with a truth value; any is any value. Numbers are kept small, so that programs end and are exact.
"""
from __future__ import annotations

Rules = dict[str, dict[str, float]]

EXPRESSIONS: Rules = {
    "f": {
        "{=f}": 12, "tf.constant({const})": 2, "{f} + {f}": 3, "{f} - {f}": 2, "{f} * {const}": 2, "{f} + {int}": 1,
        "{int} - {f}": 1, "{f} / 2": 1, "-{f}": 1, "abs({f})": 1, "tf.reduce_sum({v})": 2, "tf.reduce_max({=v})": 1,
        "{=v}[0]": 1, "{=v}[-1]": .5, "{=v}[{=int} % 2]": .5, "tf.cast({i}, tf.float32)": 1, "tf.cast({b}, tf.float32)": .5,
        "({f} if {cond} else {f})": 1.5, "tf.where({b}, {f}, {f})": .5, "tf.maximum({f}, {f})": .5, "max({f}, {f})": .5,
        "{=box}.total": 2, "{=box}.add({f})": 1.5, "{=box}.double": .5, "{=box}.var * {const}": .5, "helper({f}, {int})": 1.5,
        "helper({f})": .5, "helper({f}, k={int})": .5, "{=fn}({f})": 1.5, "(lambda z: z + {f})({f})": .5, "{=lt}[-1]": 1,
        "{=lt}[0]": .5, "{=lt}.pop()": .7, "sum({=lt}, {f})": .7, "tf.add_n([{f}, *{=lt}])": .4, "{=tup}[0]": 1,
        '{=dict}["a"]': 1.2, '{=dict}.get("a")': .4, '{=dict}.get("c", {f})': .4, "({+f} := {f})": .6, "{f} ** 2": .4,
        "{f} % 3.0": .4, "{f} // 2.0": .3, "tf.stop_gradient({f})": .2, "tf.tanh({f})": .4, "tf.clip_by_value({f}, -4.0, 4.0)": .4,
        "tf.reduce_mean(tf.stack([{f}, {f}]))": .4, "several({f}, {f})": .4, "several({f}, *{=lt}, scale={int})": .4,
        "{=box}.method({f})": .7, "min({f}, {f})": .3, "G_T": 1, "recur({f}, {trip})": .4,
        "checked({f})": 2.5, "careful({f})": .8, "{=box}.point.a": .8, "{=box}.half": .5, "Point({f}, {int}).moved({f}).a": .4, "sum(steps({=v}))": .3,
        '{=dict}.get(f"k{{{small}}}", {f})': .3, "next(iter(steps({=v})), {f})": .1, "Slots({f}).value": .2, "max(steps({=v}), default={f})": .1,
    },
    "i": {
        "{=i}": 8, "tf.constant({trip_const})": 2, "{i} + {i}": 2, "{i} + {small}": 2, "{i} - {small}": 1, "{i} * 2": .5,
        "tf.cast({f}, tf.int32)": 1, "tf.shape({=v})[0]": .7, "tf.size({=v})": .5, "{i} % 3": 1, "{i} // 2": .7, "abs({i})": .4,
        "({i} if {cond} else {i})": 1, "tf.cast({b}, tf.int32)": .7, "({+i} := {i})": .4, "tf.argmax({=v}, output_type=tf.int32)": .4,
        "-{i}": .4, "tf.maximum({i}, {i})": .3,
    },
    "b": {
        "{=b}": 4, "{=f} > {const}": 5, "{=f} < {=f}": 3, "{=i} == {small}": 2, "{=v}[0] > {const}": 1, "{f} > {f}": 4, "{f} > {const}": 5, "{f} < {int}": 1, "{i} == {small}": 2, "{i} % 2 == 0": 2, "{i} > {i}": 1,
        "tf.reduce_any({=v} > {const})": 1, "tf.reduce_all({=v} < {f})": .7, "tf.logical_not({b})": .5, "{b} & {b}": .5,
        "{b} | {b}": .4, "~{b}": .4, "tf.equal({i}, {i})": .4, "{f} != {f}": .4, "{f} <= {f}": 1, "tf.constant({bool_const})": .05,
    },
    "v": {
        "{=v}": 8, "tf.ones([3])": 0.5, "{v} + {f}": 2, "{v} * {const}": 2, "{v} + {v}": 1, "tf.stack([{f}, {f}, {f}])": .7, "{v} * 2": .5,
        "({v} if {cond} else {v})": 1, "tf.where({v} > {const}, {v}, -{v})": .7, "tf.concat([{=v}, {=v}], 0)": .3, "{=v}[1:]": .3,
        "{=v}[::-1]": .3, "tf.zeros_like({=v})": .4, "tf.range(3.0) * {f}": .4, "tf.cumsum({=v})": .3, "tf.map_fn({=fn}, {=v})": .2,
        "tf.stack({=lt})": .3, "tf.sort({=v})": .3, "tf.convert_to_tensor({=lt})": .2, "tf.ones([{trip} + 1])": .3,
    },
    "int": {
        "{=int}": 10, "{small}": 4, "({int} + {int}) % 50": 2, "{int} % 3": 1, "{int} - {small}": 1, "{int} // 2": 1, "-{=int}": .4,
        "({int} * {small}) % 20": 1, "len({=lt})": 1, "len({=li})": .7, "int(tf.clip_by_value({f}, -9.0, 9.0))": 1.2, "int({i})": 1.2,
        "({int} if {cond} else {int})": 1.2, "{=box}.count": 2, "{=box}.bump()": .7, "{=box}.bump(by={int} % 5)": .7, "{=tup}[1]": .7,
        '{=dict}["b"]': 1, "G": 1, "len({=v})": .4, "{=v}.shape[0]": .5, "max({int}, {int})": .5, "abs({int})": .4, "{=li}[0]": .5,
        "{=li}[-1]": .5, "sum({=li}) % 30": .5, "{=li}.pop()": .4, "int({cond})": .5, "({+int} := {int})": .5, "{=box}.scale": 1,
        "{=li}.index({=li}[-1])": .3, "len({str})": .3, "int({=b})": .3, "divmod({int}, 3)[1]": .3, "min({int}, 4)": .4,
        "round({float})": .2, "{int} ** 2 % 10": .2, "{=int} & 3": .2, "counted()": .5,
        "{=box}.point.b": .5, "{=box}.step()": .5, "{=box}.step({small})": .2, "len({=dict})": .4, "10 // ({int} % 3)": .3, "len(list(steps({=v})))": .2,
    },
    "float": {
        "{=float}": 6, "{const}": 3, "float({f})": 1.5, "{float} + {int}": 1, "{float} * 0.5": 1, "{int} / 2": 1, "float({int})": .5,
        "({float} if {cond} else {float})": 1, "min({float}, 2.0)": .4, "{float} - {float}": .5, "abs({float})": .3,
        "float({i})": .3, "{f}.numpy().item()": .2, "max({int}, {float})": .3,
    },
    "bool": {
        "{=bool}": 5, "{bool_const}": 2, "{int} > {int}": 2, "bool({f} > {const})": 1.5, "bool({i})": .5, "not {cond}": 1.5,
        "{=any} is None": 2, "{=any} is not None": 1, "{int} in {=li}": .7, "isinstance({=any}, str)": 1, "isinstance({=any}, int)": .7,
        "{small} < {int} < 7": .7, "{str} == {str}": .7, '"c" in {=dict}': .5, "{=lt} == []": .2, "hasattr({=box}, {attr})": .4,
        "any([{cond}, {cond}])": .3, "all({=b} for _ in range(2))": .2, "{int} == {small}": 1, "tf.is_tensor({=any})": .7,
        "{int} not in ({small}, {small})": .3, "callable({=any})": .2, "{float} > {const}": .6, '{str}.startswith("l")': .3,
    },
    "str": {
        "{=str}": 4, '"low"': 1, '"high"': 1, '"mid"': 1, 'f"{{{int}}}!"': 1, '("low" if {cond} else "high")': 2, "{str} + {str}[:2]": .5,
        "str({int})": .6, "{=box}.note": .5, 'f"{{{float}:.2f}}"': .4, "{str}.upper()": .4, "{=str}[0]": .4, 'f"{{{=any}}}"': .3,
        'type({=any}).__name__': .3, '"%d|%s" % ({int}, {str})': .3, '"{{}}".format({int})': .3, 'repr({int})': .2,
    },
    "lt": {
        "{=lt}": 2, "[]": 2, "[{f}]": 2, "[{f}, {f}]": 2, "[z * 2 for z in {=lt}]": 1, "[z for z in {=lt} if {cond}]": .7,
        "[z + {f} for z in tf.unstack({=v})]": .3, "[{f} for _ in range({trip})]": 1, "{=lt}[:2]": .7, "list({=lt})": .7, "{=lt}[1:]": .5,
        "({=lt} + [{f}])[:6]": .7, "[z for z in {v} if z > {const}]": .7, "[{f}] * 2": .4, "list(reversed({=lt}))": .4, "{=box}.items": .7,
        "{=lt}.copy()": .3, "[{=fn}(z) for z in {=lt}]": .5, "[z for z, k in zip({=lt}, {=li}) if k]": .3, "sorted({=lt})": .2,
        "list(map({=fn}, {=lt}))": .3, "[*{=lt}, {f}][-4:]": .4,
        "list(steps({=v}))": .4, "[checked(z) for z in {=lt}]": .4, "[z for z in picky({=v})]": .3, "[{=lt}[k] for k in range(len({=lt}))]": .2,
    },
    "li": {
        "{=li}": 2, "[]": 1, "[{int}, {int}]": 3, "[1, 2, 3]": 1, "[k * 2 for k in {=li}]": .7, "list(range({trip}))": 1,
        "[k for k in range(4) if {cond}]": .7, "{=li}[::-1]": .4, "sorted({=li})": .4, "[int(k) for k in tf.range({trip})]": .3,
        "list({=li})[:5]": .5, "[k for k, z in enumerate({=lt})]": .4,
    },
    "tup": {
        "({f}, {int})": 5, "{=tup}": 3, "(({f}, {int}) if {cond} else ({f}, {int}))": 1, "pair({f})": 1, "({=tup} if {cond} else {=tup})": .5,
    },
    "dict": {
        '{{"a": {f}, "b": {int}}}': 4, "{=dict}": 2, "dict(a={f}, b={int})": 1, '{{**{=dict}, "b": {int}}}': .5,
        "{=dict}.copy()": .4, '{{"a": {f}, "b": {int}, "c": {any}}}': .5,
    },
    "fn": {
        "{=fn}": 4, "(lambda z: z * {const})": 2, "(lambda z: z + {=f})": 2, "helper": 1, "({=fn} if {cond} else {=fn})": 1, "{=box}.method": .7,
        "abs": .3, "(lambda z, w={f}: z - w)": .7, "functools.partial(helper, k={int})": .4, "tf.nn.relu": .4,
    },
    "box": {"{=box}": 1},
    "cond": {
        "{b}": 14, "{bool}": 3, "{cond} and {cond}": 2, "{cond} or {cond}": 2, "not {cond}": 1.5, "{=f}": .3, "{=i}": .3, "{=int}": .5,
        "{=lt}": .7, "{const} < {f} < {f}": 1, "0 <= {i} < 3": .7, "({+f} := {f}) > {const}": .7, "{=str}": .2, "{int} < {i} <= {int}": .3,
        "{f} > {float}": 1, "({b} if {cond} else {cond})": .4, "{=any} == {small}": .3, "bool({cond})": .3, "{=f} in {=lt}": .1,
    },
    "any": {
        "{f}": 4, "{int}": 3, "None": 3, "{i}": 2, "{str}": 2, "{float}": 1, "{bool}": 1, "{v}": 1, "{=any}": 3, "{tup}": 1, "{lt}": .5,
        "{b}": .7, "{dict}": .4, "(None if {cond} else {f})": 1, "({f} if {cond} else {str})": .5, "({int} if {cond} else {float})": .7,
        "({int} if {cond} else {f})": .5, "{fn}": .2, "({any}, {any})": .5, "{=dict}.get({key})": .3, "getattr({=box}, {attr}, None)": .4,
        "({any} and {any})": .3, "({=any} or {any})": .5, "({cond} and {any})": .3, "[{any}, {any}]": .4, "{{1, 2}}": .1, "{cond}": .3,
        "{=any} is {=any}": .2, "...": .05, "tf.cast({f}, tf.float64)": .3, "tf.constant({str})": .2, "{=box}": .2, "int": .1,
    },
    "iter_f": {
        "{=v}": 5, "{v}": 2, "list({=lt})": 2, "{=lt}[:3]": 2, "[{f}, {f}]": 1.5, "tf.unstack({=v})": .4, "reversed({=lt}[:4])": .5,
        "tuple({=lt})": .4, "map({=fn}, {=lt}[:3])": .5, "filter(lambda z: z > {const}, {=lt}[:3])": .4, "(z + 1.0 for z in {=lt}[:3])": .4,
        "tf.data.Dataset.from_tensor_slices({=v})": .3, "iter({=v})": .2,
        "steps({=v})": 1.2, "picky({=v})": .8, "{=dict}.values()": .1,
    },
    "iter_i": {
        "tf.range({trip_const})": 4, "tf.range({i} % 4)": 3, "tf.range({trip})": 1, "tf.range(1, {trip_const} + 2, 2)": .5,
        "tf.constant([3, 1, 2])": 1,
    },
    "iter_int": {
        "range({trip})": 6, "range({small}, 5)": 1, "list({=li})[:4]": 2, "[{int}, {int}]": 1, "reversed(range({trip}))": .5,
        "range(4, {small}, -1)": .4, "({small}, {int})": .6, "sorted({=li})[:3]": .3, "range({i} % 4)": .6, "{{{small}: 0, 7: 1}}": .3,
    },
    "trip": {"{trip_const}": 4, "n % 4": 3, "{int} % 4": 2, "min(len({=lt}), 3)": 1, "int({i}) % 4": 1, "int({f} > {const}) + 1": .4},
    "trip_const": {"0": .5, "1": 1, "2": 3, "3": 2},
    "small": {"0": 1, "1": 3, "2": 3, "3": 2},
    "const": {"0.0": 1, "0.5": 3, "1.0": 3, "2.0": 2, "-1.0": 2, "-0.25": 1, "1.5": 1, "4.0": .5},
    "bool_const": {"True": 1, "False": 1},
    "key": {'"a"': 2, '"b"': 2, '"c"': 1},
    "attr": {'"total"': 1, '"missing"': .5, '"note"': 1, '"extra"': 1.5},
    "error": {'ValueError(f"{{float({f}):.1f}}")': 1, "Odd({int}, {f})": 1, 'ValueError({str})': 3, 'Odd({any})': 2, 'KeyError("k")': .5, "Odd": .5, 'RuntimeError(f"{{{int}}}")': 1},
}

STATEMENTS: dict[str, float] = {
    "{+f} = checked({f})": 2, "{+f} = careful({f})": .5, "{=box}.half = {f}": .7, "{=box}.half += {f}": .4, "{=box}.point = {=box}.point.moved({f})": .7,
    "{=box}.point.a += {f}": .5, "{=box}.point.b += {small}": .4, '{=dict}[f"k{{{small}}}"] = {f}': .5, 'print(f"{{{f}}} {{{int}:3d}}")': .5,
    'print(f"{{float({f}):.2f}}", {str})': .5, "assert {cond}, f\"{{{int}}}\"": .3, "{=box}.step()": .4, "{+any} = Point({f}, {int})": .4,
    "{+f} = {f}": 10, "{+i} = {i}": 4, "{+b} = {b}": 2, "{+v} = {v}": 3, "{+int} = {int}": 6, "{+float} = {float}": 2,
    "{+bool} = {bool}": 1.5, "{+str} = {str}": 2, "{+lt} = {lt}": 2, "{+li} = {li}": 1, "{+tup} = {tup}": 1.5, "{+dict} = {dict}": 1.5,
    "{+fn} = {fn}": 1, "{+any} = {any}": 4, "{+any} = None": 1.5, "{~f} += {f}": 4, "{~f} -= {int}": 1, "{~f} *= {const}": 1,
    "{~i} += {small}": 2, "{~int} += {small}": 3, "{~int} -= 1": 1, "{~v} += {f}": 1, "{~v} *= 0.5": .5, "{~float} += {const}": .7,
    "{~float} /= 2": .3, "{=lt}.append({f})": 4, "{=li}.append({int})": 2, "{=lt}[0] = {f}": .7, "{=lt}[-1] += {f}": .5,
    "{=li}[0] = {int}": .5, "{=lt}.extend([{f}, {f}])": .7, "{=lt}.insert(0, {f})": .4, "{=lt}.pop()": .6, "{=lt}.clear()": .2,
    "{~lt} += [{f}]": .6, "del {=lt}[:1]": .3, '{=dict}["a"] = {f}': 2, '{=dict}["b"] += 1': 1, '{=dict}["c"] = {any}': .7,
    '{=dict}["a"] += {f}': .7, "{=dict}.update(b={int})": .4, '{=dict}.setdefault("c", {f})': .4, '{=dict}.pop("c", None)': .3,
    "{=box}.total = {f}": 2, "{=box}.total += {f}": 2, "{=box}.count += 1": 2, "{=box}.count = {int}": 1, "{=box}.items.append({f})": 1.5,
    "{=box}.note = {any}": 1.5, "{=box}.extra = {any}": 1, "{=box}.var.assign({f})": 1, "{=box}.var.assign_add({f})": 1,
    "del {=box}.extra": .2, "{=box}.bump()": 1, "{=box}.add({f})": 1, "setattr({=box}, {attr}, {f})": .3, "G_L.append({int})": .7,
    'G_D["k"] = {any}': .5, "G_D[{key}] = {f}": .5, "print({any})": 2, "print({str}, {int})": 1.5, 'print("at", {f})': 1,
    'print(f"{{{any}}} {{{int}}}")': 1, "print({str}, end={str})": .2, "assert {cond}, {str}": .2, "assert {=f} > -2.5, {str}": .5, "assert {b}": .1,
    "{+f}, {+int} = {tup}": 1, "{+f}, {+f} = {f}, {f}": 1, "{+f} = {+f} = {f}": .4, "{+f}, *{+lt} = [{f}, *{=lt}]": .4,
    "({+int}, {+f}), {+str} = ({int}, {f}), {str}": .3, "G_set({int})": .7, "{+f}, {+f}, {+f} = {=v}": .3, "{~v} = {v}": 1,
    "tf.debugging.assert_less({f}, 50.0)": .2, "tf.print({str}, {int})": .2, "log({any})": .5, "{=any}": .2, "{f}": .3, "{cond} and print({str})": .3,
    "{~f}, {~f} = {f}, {f}": .5, "{~int}, {~int} = {int}, {int}": .3, "{+v} = tf.tensor_scatter_nd_update({=v}, [[0]], [{f}])": .2,
}
