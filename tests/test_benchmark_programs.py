"""The programs of the benchmarks do converted what they do as plain Python: results, state and text of a few steps."""

from __future__ import annotations

import pytest

from benchmarks import models
from tests.differential import check

# Steps after which every kind of path has been taken at least once, and no more: tracing is what takes time.
STEPS = {"inception": 2, "seq2seq": 3, "resnet": 2}
# Those that run wholly in the graph today.
IN_GRAPH = {"lstm", "cnn", "resnet", "inception", "lm", "pix2pix", "beam_search", "maml", "adaptive_depth", "mcmc", "ode"}


@pytest.mark.parametrize("name", models.NAMES)
def test_program(name):
    lacking = models.lacking(name)
    if lacking:
        pytest.skip(f"{lacking} is not installed")
    model = models.load(name)
    hidden = getattr(model, "UNCOMPARED", ())

    def make():
        program = model.PROGRAM()
        steps = model.batches(STEPS.get(name, 4))

        def state():
            kept = {key: value for key, value in vars(program).items() if key not in hidden}
            if "workers" in kept:
                kept["workers"] = [(worker.observation, worker.reward) for worker in program.workers]
            return kept

        return program.step, [(batch, {}) for batch in steps], state

    check(make, repeat=1, graph=True if name in IN_GRAPH else None)
