"""Floors of the corpora: what counts as a fall, what recording changes, and runners that fail."""

import json
from pathlib import Path

import pytest

from benchmarks import corpora

VERDICTS = [
    corpora.Verdict("a", theme="loops", right=True, wrong=False, in_graph=True),
    corpora.Verdict("b", theme="loops", right=True, wrong=False, in_graph=False),
    corpora.Verdict("c", theme="lists", right=False, wrong=True, in_graph=True),
    corpora.Verdict("d", theme="lists", right=False, wrong=False, in_graph=False),
]
FIGURES = {"right": 2, "right and in the graph": 1, "wrong": 1, "right in loops": 2, "right in lists": 0}


def corpus_of(folder: Path, program: str, **settings: float) -> corpora.Corpus:
    """A corpus in ``folder`` whose runner is ``program``, which finds the output file in sys.argv[-1]."""
    (folder / "runner.py").write_text(f"import json, sys, time\n{program}")
    return corpora.Corpus("tiny", "runner.py", (), corpora.read_conformance, **settings)


def test_score_counts_right_wrong_graph_and_themes() -> None:
    assert corpora.score(VERDICTS) == FIGURES


def test_graph_figure_is_left_out_when_it_was_not_measured() -> None:
    [verdict] = corpora.read_conformance({"results": [{"name": "a", "theme": "loops", "class": "pass"}]})
    assert corpora.score([verdict]) == {"right": 1, "wrong": 0, "right in loops": 1}


@pytest.mark.parametrize(
    ("verdict", "right", "wrong"),
    [
        ("pass", True, False),
        pytest.param("pass_soft", False, False, id="right value of another type"),
        ("wrong_state", False, True),
        ("raised", False, False),
        ("timeout", False, False),
    ],
)
def test_reading_conformance(verdict: str, right: bool, wrong: bool) -> None:
    document = {"results": [{"name": "a", "theme": "loops", "class": verdict, "in_graph": None}]}
    assert corpora.read_conformance(document) == [corpora.Verdict("a", "loops", right, wrong, in_graph=False)]


def test_reading_keras() -> None:
    found = [("a", "pass", True, 0.1), ("b", "pass", True, 0.9), ("c", "wrong", True, 0.1), ("d", "pass", False, None)]
    document = {
        "results": [
            {"name": name, "theme": "fit", "deterministic": stable, "results": {"imp2tf": {"cls": verdict, "ratio": ratio}}}
            for name, verdict, stable, ratio in found
        ]
    }
    verdicts = corpora.read_keras(document)
    assert [(one.name, one.right, one.wrong, one.in_graph) for one in verdicts] == [
        ("a", True, False, True),
        ("b", True, False, False),
        ("c", False, True, True),
        ("d", False, False, None),
    ]


@pytest.mark.parametrize(
    ("floors", "fallen"),
    [
        pytest.param({}, [], id="nothing recorded"),
        pytest.param(FIGURES, [], id="just reached"),
        pytest.param({"right": 1, "wrong": 5}, [], id="better"),
        pytest.param({"right": 3}, ["right"], id="fewer right"),
        pytest.param({"wrong": 0}, ["wrong"], id="more wrong"),
        pytest.param({"right in dicts": 1}, ["right in dicts"], id="theme gone"),
    ],
)
def test_fallen(floors: corpora.Figures, fallen: list[str]) -> None:
    assert corpora.fallen(FIGURES, floors) == fallen


def test_recording_raises_floors_and_lowers_none() -> None:
    floors = {"right": 1, "wrong": 0, "right in loops": 9, "right in dicts": 4}
    assert corpora.raised(FIGURES, floors) == FIGURES | {"wrong": 0, "right in loops": 9, "right in dicts": 4}


def test_report_names_the_cases_of_a_theme_that_fell() -> None:
    lines = corpora.report(VERDICTS, FIGURES, {"right in lists": 1})
    assert lines[1:] == ["  FELL: right in lists: 0, must be at least 1", "        not right now: c, d"]


def test_run_reads_what_the_runner_wrote(tmp_path: Path) -> None:
    document = {"results": [{"name": "a", "theme": "loops", "class": "pass", "in_graph": True}]}
    corpus = corpus_of(tmp_path, f"open(sys.argv[-1], 'w').write({json.dumps(document)!r})")
    verdicts = corpora.run(corpus, tmp_path, tmp_path / "results")
    assert verdicts == [corpora.Verdict("a", "loops", right=True, wrong=False, in_graph=True)]


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("sys.exit('no such backend')", "no verdicts were written.*no such backend"),
        ("time.sleep(60)", "not done after 0.01 minutes"),
        ("json.dump({'partial': True, 'stuck': 'b'}, open(sys.argv[-1], 'w'))", "stuck in the case b"),
    ],
    ids=["crash", "timeout", "partial"],
)
def test_runner_that_does_not_come_to_its_end(tmp_path: Path, program: str, message: str) -> None:
    corpus = corpus_of(tmp_path, program, minutes=0.01)
    with pytest.raises(corpora.CorpusFailed, match=message):
        corpora.run(corpus, tmp_path, tmp_path / "results")


def test_floors_belong_to_corpora() -> None:
    floors = json.loads(corpora.FLOORS_FILE.read_text())
    assert floors.keys() <= {corpus.name for corpus in corpora.CORPORA}
