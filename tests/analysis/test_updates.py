"""Which attributes a function counts on, by its text."""

import ast

import gast

from imp2tf.analysis.updates import updates_of


def updates(text: str) -> dict[str, bool]:
    """The names that are updated, and whether ints among them vary."""
    (node,) = gast.ast_to_gast(ast.parse(text)).body
    return {name: counts for _, name, counts in updates_of(node, "Searcher.step")}


def test_attributes_that_are_given_a_counter_count() -> None:
    found = updates("""
def step(self, limit):
    turns = 0
    while turns < limit:
        turns += 1
    if turns > self.longest:
        self.longest = turns
    self.mode, self.limit = 3, limit
    self.calls += 1
""")
    assert found == {"longest": True, "mode": False, "limit": False, "calls": True}
