"""A binary Tree-LSTM: each node has a hidden and a cell state, with a forget gate for each child."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import tensorflow as tf

from benchmarks.models import trees
from benchmarks.models.trees import LABELS, Size, Tree, in_rows, random_trees

CPU, PAPER = trees.CPU, trees.PAPER
State = tuple[tf.Tensor, tf.Tensor]


class TreeLSTM:
    """The recursion is Python's, over objects."""

    def __init__(self, size: Size = CPU) -> None:
        random = np.random.default_rng(0)

        def weight(*shape: int) -> tf.Variable:
            return tf.Variable(random.normal(0.0, 0.2, shape), dtype=tf.float32)

        self.embedding = weight(size.words, size.width)
        self.kernel = weight(2 * size.width, 5 * size.width)
        self.bias = weight(5 * size.width)
        self.readout = weight(size.width, LABELS)
        self.weights = [self.embedding, self.kernel, self.bias, self.readout]
        self.size = size
        self.trees = 0
        self.best = None

    def cell(self, left: State, right: State) -> State:
        """The state of a node from those of its children."""
        gates = tf.concat([left[0], right[0]], axis=1) @ self.kernel + self.bias
        keep_left, keep_right, take, give, new = tf.split(gates, 5, axis=1)
        c = tf.sigmoid(keep_left) * left[1] + tf.sigmoid(keep_right) * right[1] + tf.sigmoid(take) * tf.tanh(new)
        return tf.sigmoid(give) * tf.tanh(c), c

    def state(self, tree: Tree, scores: list[tf.Tensor], labels: list[int]) -> State:
        """The state of a node; collects the scores and labels of all nodes on the way."""
        if tree.is_leaf:
            word = self.embedding[tree.word][tf.newaxis]
            found = word, tf.zeros_like(word)
        else:
            left = self.state(tree.left, scores, labels)
            right = self.state(tree.right, scores, labels)
            found = self.cell(left, right)
        scores.append(found[0] @ self.readout)
        labels.append(tree.label)
        return found

    def loss(self, tree: Tree) -> tf.Tensor:
        """Mean cross entropy of the labels."""
        scores: list[tf.Tensor] = []
        labels: list[int] = []
        self.state(tree, scores, labels)
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, tf.concat(scores, axis=0)))

    def step(self, tree: Tree) -> tf.Tensor:
        """One step of training; returns the loss before it."""
        with tf.GradientTape() as tape:
            loss = self.loss(tree)
        for w, g in zip(self.weights, tape.gradient(loss, self.weights)):
            if g is not None:
                w.assign_sub(0.1 * tf.convert_to_tensor(g))
        self.trees += 1
        if self.best is None or loss < self.best:
            self.best = float(loss)
        return loss


class TreeLSTMAsGraph(TreeLSTM):
    """A loop over the rows of a table, children before parents; one graph for all trees."""

    def loss_of_rows(self, words: tf.Tensor, labels: tf.Tensor, left: tf.Tensor, right: tf.Tensor, count: tf.Tensor) -> tf.Tensor:
        """Mean cross entropy of the labels."""
        rows, width = words.shape[0], self.size.width
        embedded = tf.gather(self.embedding, words)
        none = tf.zeros([width])
        states = tf.TensorArray(tf.float32, rows, element_shape=[2, width], clear_after_read=False)

        def add(row: tf.Tensor, states: tf.TensorArray) -> tuple[tf.Tensor, tf.TensorArray]:
            def inner() -> tf.Tensor:
                children = [tf.split(states.read(side[row]), 2) for side in (left, right)]
                return tf.concat(self.cell(children[0], children[1]), axis=0)

            return row + 1, states.write(row, tf.cond(left[row] < 0, lambda: tf.stack([embedded[row], none]), inner))

        _, states = tf.while_loop(lambda row, _: row < count, add, (0, states), maximum_iterations=rows)
        scores = states.stack()[:, 0] @ self.readout
        each = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, scores)
        counted = tf.cast(tf.range(rows) < count, tf.float32)
        return tf.reduce_sum(each * counted) / tf.cast(count, tf.float32)

    def train(self, *table: tf.Tensor) -> tf.Tensor:
        """One step of training; returns the loss before it."""
        with tf.GradientTape() as tape:
            loss = self.loss_of_rows(*table)
        for w, g in zip(self.weights, tape.gradient(loss, self.weights)):
            w.assign_sub(0.1 * tf.convert_to_tensor(g))
        return loss

    def compiled(self, jit_compile: bool = False) -> Callable[..., tf.Tensor]:
        """The step: the tree written as a table, then the graph."""
        train = tf.function(self.train, autograph=False, jit_compile=jit_compile)
        rows = 2 * self.size.leaves[1] - 1
        return lambda tree: train(*in_rows(tree, rows))


PROGRAM = TreeLSTM
ADAPTED = None
ADAPTATION = ""
HANDWRITTEN = TreeLSTMAsGraph


def batches(count: int, size: Size = CPU) -> list[tuple[Tree]]:
    """Random trees."""
    return [(tree,) for tree in random_trees(count, size)]


def rehearse(model: TreeLSTM, step: Callable[..., tf.Tensor]) -> list[tf.Tensor]:
    """The calls whose results are compared."""
    return [step(*batch) for batch in batches(20)]
