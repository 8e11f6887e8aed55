"""The measuring protocol: results compared first, contenders in turn, speed only where results are equal."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
import tensorflow as tf
from rich.console import Console

from benchmarks import models, plot, report, steps
from benchmarks.__main__ import chosen, main
from benchmarks.checks import Outcome, difference, difference_in_kind, outcome, returned_only
from benchmarks.contenders import AUTOGRAPH, CONVERTED, EAGER, autograph, by_hand
from benchmarks.protocol import Contender, Result, Settings, Timing, interleave, measure

TINY = Settings(rounds=4, sample_seconds=0.0, warm_calls=1, conversions=1)


class Counter:
    def __init__(self):
        self.count = 0
        self.last = None
        self.weight = tf.Variable(1.0)

    def step(self, x):
        self.count += 1
        self.last = self.weight * x
        return self.last


def outcome_of(x, act=None):
    program = Counter()
    return outcome(lambda: (act or program.step)(x), program)


def test_interleave_takes_turns_and_begins_with_another_each_round():
    order = []
    timings = interleave({"a": lambda: order.append("a"), "b": lambda: order.append("b")}, TINY)
    warm_and_calibration = 2 * 2
    assert "".join(order[warm_and_calibration:]) == "abbaabba"
    assert timings["a"].samples == timings["b"].samples == TINY.rounds


def test_timing_is_the_median_with_quartiles():
    timing = Timing.of([1.0, 2.0, 3.0, 4.0, 100.0])
    assert (timing.low, timing.median, timing.high, timing.samples) == (2.0, 3.0, 4.0, 5)


def test_timing_of_one_sample():
    assert Timing.of([2.0]) == Timing(2.0, 2.0, 2.0, 1)


def test_what_differs_is_not_timed():
    def never():
        raise AssertionError("timed although its results differ")

    contenders = [Contender("a", lambda: 1), Contender("b", never, "returned: 1 became 2")]
    results = measure("s", "c", contenders, TINY)
    assert results[0].timing is not None
    assert results[1].timing is None
    assert results[1].difference == "returned: 1 became 2"


@pytest.mark.parametrize("graphs_only", [True, False])
def test_what_ran_as_plain_python_is_said_and_has_no_graph_time(graphs_only):
    stats = {"calls": 4, "graph_calls": 0, "fallbacks": [{"code": "X1", "line": 7}]}
    [result] = measure("s", "c", [Contender("a", lambda: 1, stats=lambda: stats)], TINY, graphs_only)
    assert result.note == "plain Python at line 7 (X1); only 0 of 4 calls in a graph"
    assert (result.timing is None) == graphs_only


def test_equal_outcomes_have_no_difference():
    assert difference(outcome_of(tf.constant(2.0)), outcome_of(tf.constant(2.0 + 1e-7))) == ""


def left_behind(x):
    program = Counter()
    tf.function(program.step)(x)
    return outcome(lambda: x, program)


@pytest.mark.parametrize(("expected", "found", "text"), [
    pytest.param(1.0, 2.0, "returned: differs by up to 1", id="value"),
    pytest.param(1, 1.0, "returned: int became float", id="type"),
    pytest.param(1, True, "returned: int became bool", id="bool is no int"),
    pytest.param([1], [1, 2], "only one of the two has returned[1]", id="length"),
    pytest.param({"a": "x"}, {"a": "y"}, "returned['a']: 'x' became 'y'", id="text"),
    pytest.param([1.0, 1.0], [1.0, float("nan")], "returned[1]: differs by up to nan", id="nan"),
])
def test_difference_names_the_place(expected, found, text):
    assert difference(outcome(lambda: expected), outcome(lambda: found)) == text


def test_difference_sees_shapes_and_dtypes():
    def of(value):
        return outcome(lambda: value)

    two = of(tf.zeros([2]))
    assert difference(two, of(tf.zeros([1, 2]))) == "returned: float32[2] became float32[1, 2]"
    assert difference(two, of(tf.zeros([2], tf.float64))) == "returned: float32[2] became float64[2]"


def test_difference_sees_symbolic_tensors_in_the_state():
    found = left_behind(tf.constant(2.0))
    expected = outcome_of(tf.constant(2.0))
    assert difference(expected, found) == "program.last: EagerTensor became SymbolicTensor"
    assert difference(expected, found, same_types=False) == "program.last: a symbolic tensor was left behind"


def test_difference_between_an_error_and_none():
    def fail():
        raise ValueError("no\nsecond line")

    failed, fine = outcome(fail), outcome(lambda: 1)
    assert failed == Outcome(error="ValueError: no")
    assert difference(fine, failed) == "ValueError: no"
    assert difference(failed, fine) == "no ValueError: no"
    assert difference(failed, failed) == ""


def test_fresh_copy_is_new_code_each_time():
    with models.fresh_copy("cnn") as one, models.fresh_copy("cnn") as two:
        codes = {module.PROGRAM.step.__code__ for module in (models.load("cnn"), one, two)}
    assert len(codes) == 3


def timed(case, contender, seconds, difference=""):
    timing = None if difference else Timing(seconds, seconds, seconds, 3)
    return Result("s", case, contender, timing, difference)


RESULTS = [
    timed("a", EAGER, 8.0), timed("a", AUTOGRAPH, 3.0), timed("a", CONVERTED, 2.0),
    timed("b", EAGER, 2.0), timed("b", AUTOGRAPH, 1.0, "wrong"), timed("b", CONVERTED, 2.0),
    timed("c", EAGER, 9.0), timed("c", AUTOGRAPH, 9.0), timed("c", CONVERTED, 1.0, "wrong"),
]


def test_speed_counts_only_where_results_are_equal():
    cases = report.by_case(RESULTS)
    assert report.ratio(cases["s", "a"], EAGER) == 4.0
    assert report.ratio(cases["s", "b"], AUTOGRAPH) is None
    assert report.ratio(cases["s", "c"], EAGER) is None
    assert report.means(cases) == {"s": {EAGER: pytest.approx(2.0), AUTOGRAPH: pytest.approx(1.5)}}


def test_table_says_what_is_not_equal_and_json_holds_it(tmp_path):
    console = Console(record=True, width=150, file=io.StringIO())
    report.show(console, RESULTS, report.machine())
    text = console.export_text()
    assert "not equal" in text
    assert "s, c, imp2tf: not equal to eager: wrong" in text
    report.write_json(tmp_path / "out.json", RESULTS, TINY, report.machine())
    document = json.loads((tmp_path / "out.json").read_text())
    assert document["speedup"][0] == {"suite": "s", "case": "a", "over": {EAGER: 4.0, AUTOGRAPH: 1.5}}
    assert document["machine"]["tensorflow"] == tf.__version__


def test_only_takes_suites_and_cases():
    assert chosen(["lstm"]) == [("conversion", "lstm"), ("step", "lstm")]
    assert {suite for suite, _ in chosen(["dispatch"])} == {"dispatch"}
    suites = ("conversion", "dispatch", "guards", "keras", "retention", "step", "tiers")
    assert chosen([]) == [pair for suite in suites for pair in chosen([suite])]


def test_only_refuses_unknown_names():
    with pytest.raises(SystemExit, match=r"no suite or case is called 'lstn'; there are: .*lstm"):
        chosen(["lstn"])


def test_one_case_from_the_command_line(tmp_path: Path, capsys):
    out = tmp_path / "out.json"
    assert main(["--quick", "--only", "one tensor", "--json", str(out)]) == 0
    found = {result["contender"]: result for result in json.loads(out.read_text())["results"]}
    assert all(found[name]["timing"]["median"] > 0 for name in (EAGER, AUTOGRAPH, CONVERTED))
    assert "one tensor" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("name", [*models.CORE, "lm"])
def test_the_rival_is_measured_on_a_version_it_gets_right(name):
    contender = autograph(models.load(name))
    assert contender.difference == ""
    assert ("as written" in contender.note) == (models.load(name).ADAPTED is not None)


@pytest.mark.slow
def test_by_hand_gives_what_eager_gives():
    for jit_compile in (False, True):
        contender = by_hand(models.load("beam_search"), jit_compile)
        assert (contender.difference, len(contender.seconds)) == ("", 20)


def test_other_random_numbers_are_compared_in_kind_only():
    expected = outcome(lambda: [tf.constant([1.0, 2.0])])
    assert difference_in_kind(expected, outcome(lambda: [tf.constant([3.0, 4.0])])) == ""
    assert difference_in_kind(expected, outcome(lambda: [tf.constant([3.0])])) == "returned[0]: float32[2] became float32[1]"
    assert difference_in_kind(expected, outcome(lambda: [tf.constant([3.0, float("nan")])])) == "returned[0]: differs by up to nan"


def test_what_is_printed_is_compared():
    assert difference(outcome(lambda: print("a")), outcome(lambda: print("b"))) == "printed: 'a\\n' became 'b\\n'"
    assert difference(returned_only(outcome(lambda: print("a"))), returned_only(outcome(lambda: None))) == ""


def test_figures_and_picture(tmp_path):
    contenders = [Contender(EAGER, lambda: 1, seconds=(0.5, 0.1)), Contender(CONVERTED, lambda: 1, seconds=(2.0,))]
    found = measure("step", "c", contenders, TINY)
    assert found[0].figures.first_step == 0.5
    assert found[0].figures.hundred_steps == pytest.approx(0.6 + 98 * found[0].timing.median)
    pytest.importorskip("matplotlib")
    assert plot.draw(tmp_path / "out.png", found) == f"picture: {tmp_path / 'out.png'}"
    assert plot.draw(tmp_path / "none.png", RESULTS) == "nothing to draw: no program was measured"


def test_a_program_whose_package_is_missing_is_skipped(monkeypatch):
    monkeypatch.setitem(models.REQUIRES, "cnn", "no_such_package")
    [result] = steps.run("cnn", TINY)
    assert (result.timing, result.note) == (None, "skipped: no_such_package is not installed")
