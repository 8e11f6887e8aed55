"""Random binary trees with a word at each leaf and a label at each node, as of parsed and judged sentences."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import tensorflow as tf

LABELS = 5


@dataclass(frozen=True)
class Size:
    """How big the model and its trees are."""

    leaves: tuple[int, int] = (4, 9)
    width: int = 32
    words: int = 100


CPU = Size()
PAPER = Size(leaves=(5, 50), width=168, words=20000)


class Tree:
    """A node: a leaf with a word, or two subtrees."""

    def __init__(self, label: int, word: int = 0, left: Tree | None = None, right: Tree | None = None) -> None:
        self.label = label
        self.word = word
        self.left = left
        self.right = right

    @property
    def is_leaf(self) -> bool:
        """Whether there is nothing below."""
        return self.left is None


def random_trees(count: int, size: Size) -> list[Tree]:
    """Trees of differing shapes; the same ones at every call."""
    random = np.random.default_rng(1)

    def grow(leaves: int) -> Tree:
        label = int(random.integers(0, LABELS))
        if leaves == 1:
            return Tree(label, int(random.integers(0, size.words)))
        left = int(random.integers(1, leaves))
        return Tree(label, 0, grow(left), grow(leaves - left))

    return [grow(int(random.integers(*size.leaves, endpoint=True))) for _ in range(count)]


def in_rows(tree: Tree, rows: int) -> tuple[tf.Tensor, ...]:
    """The tree for a graph: words, labels and rows of subtrees (children before parents), and how many rows count."""
    table: list[tuple[int, int, int, int]] = []

    def add(node: Tree) -> int:
        if node.is_leaf:
            table.append((node.word, node.label, -1, -1))
        else:
            left, right = add(node.left), add(node.right)
            table.append((0, node.label, left, right))
        return len(table) - 1

    add(tree)
    filled = np.array(table + [(0, 0, -1, -1)] * (rows - len(table)), np.int32)
    return (*(tf.constant(column) for column in filled.T), tf.constant(len(table)))
