"""A recursive neural network over binary trees: each node's vector from its children's, a label for each node."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import tensorflow as tf

from benchmarks.models import trees
from benchmarks.models.trees import LABELS, Size, Tree, in_rows, random_trees

CPU, PAPER = trees.CPU, trees.PAPER


class TreeRNN:
    """The recursion is Python's, over objects."""

    def __init__(self, size: Size = CPU) -> None:
        random = np.random.default_rng(0)

        def weight(*shape: int) -> tf.Variable:
            return tf.Variable(random.normal(0.0, 0.2, shape), dtype=tf.float32)

        self.embedding = weight(size.words, size.width)
        self.kernel = weight(2 * size.width, size.width)
        self.bias = weight(size.width)
        self.readout = weight(size.width, LABELS)
        self.weights = [self.embedding, self.kernel, self.bias, self.readout]
        self.size = size
        self.trees = 0
        self.best = None

    def vector(self, tree: Tree, scores: list[tf.Tensor], labels: list[int]) -> tf.Tensor:
        """The vector of a node; collects the scores and labels of all nodes on the way."""
        if tree.is_leaf:
            found = self.embedding[tree.word][tf.newaxis]
        else:
            left = self.vector(tree.left, scores, labels)
            right = self.vector(tree.right, scores, labels)
            found = tf.tanh(tf.concat([left, right], axis=1) @ self.kernel + self.bias)
        scores.append(found @ self.readout)
        labels.append(tree.label)
        return found

    def loss(self, tree: Tree) -> tf.Tensor:
        """Mean cross entropy of the labels."""
        scores: list[tf.Tensor] = []
        labels: list[int] = []
        self.vector(tree, scores, labels)
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


class TreeRNNAsGraph(TreeRNN):
    """A loop over the rows of a table, children before parents; one graph for all trees."""

    def loss_of_rows(self, words: tf.Tensor, labels: tf.Tensor, left: tf.Tensor, right: tf.Tensor, count: tf.Tensor) -> tf.Tensor:
        """Mean cross entropy of the labels."""
        rows, width = words.shape[0], self.size.width
        embedded = tf.gather(self.embedding, words)
        vectors = tf.TensorArray(tf.float32, rows, element_shape=[width], clear_after_read=False)

        def add(row: tf.Tensor, vectors: tf.TensorArray) -> tuple[tf.Tensor, tf.TensorArray]:
            def inner() -> tf.Tensor:
                both = tf.concat([vectors.read(left[row]), vectors.read(right[row])], axis=0)
                return tf.tanh(both[tf.newaxis] @ self.kernel + self.bias)[0]

            return row + 1, vectors.write(row, tf.cond(left[row] < 0, lambda: embedded[row], inner))

        _, vectors = tf.while_loop(lambda row, _: row < count, add, (0, vectors), maximum_iterations=rows)
        scores = vectors.stack() @ self.readout
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


PROGRAM = TreeRNN
ADAPTED = None
ADAPTATION = ""
HANDWRITTEN = TreeRNNAsGraph


def batches(count: int, size: Size = CPU) -> list[tuple[Tree]]:
    """Random trees."""
    return [(tree,) for tree in random_trees(count, size)]


def rehearse(model: TreeRNN, step: Callable[..., tf.Tensor]) -> list[tf.Tensor]:
    """The calls whose results are compared."""
    return [step(*batch) for batch in batches(20)]
