"""Beam search over a recurrent language model: a growing tensor of sentences, an early exit, counters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import tensorflow as tf

END = 0


@dataclass(frozen=True)
class Size:
    """How big the model and the search are."""

    beams: int = 4
    longest: int = 20
    width: int = 32
    words: int = 50


CPU = Size()
PAPER = Size(beams=16, longest=128, width=512, words=10000)


class BeamSearch:
    """Looks for the most probable sentence that goes on from a first word."""

    def __init__(self, size: Size = CPU) -> None:
        random = np.random.default_rng(0)
        self.embedding = tf.constant(random.normal(0.0, 1.0, [size.words, size.width]), tf.float32)
        self.kernel = tf.constant(random.normal(0.0, 0.3, [2 * size.width, size.width]), tf.float32)
        self.readout = tf.constant(random.normal(0.0, 0.5, [size.width, size.words]), tf.float32)
        self.size = size
        self.searches = 0
        self.longest_found = 0
        self.best_score = None

    def advance(self, state: tf.Tensor, words: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """The state after one more word, and the log probabilities of the next."""
        state = tf.tanh(tf.concat([tf.gather(self.embedding, words), state], axis=1) @ self.kernel)
        return state, tf.nn.log_softmax(state @ self.readout)

    def extend(self, scores: tf.Tensor, following: tf.Tensor, ended: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """The best continuations: their scores, the beams they come from, the words they add."""
        stay = tf.one_hot([END] * self.size.beams, self.size.words, on_value=0.0, off_value=-1e9)
        following = tf.where(ended[:, tf.newaxis], stay, following)
        total = tf.reshape(scores[:, tf.newaxis] + following, [-1])
        scores, chosen = tf.math.top_k(total, self.size.beams)
        return scores, chosen // self.size.words, chosen % self.size.words

    def step(self, first: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """The best sentence and its score."""
        beams = self.size.beams
        words = tf.repeat(first, beams)
        sentences = words[:, tf.newaxis]
        state = tf.zeros([beams, self.size.width])
        scores = tf.constant([0.0] + [-1e9] * (beams - 1))
        ended = tf.zeros([beams], tf.bool)
        turns = 0
        while turns < self.size.longest:
            state, following = self.advance(state, words)
            scores, source, words = self.extend(scores, following, ended)
            sentences = tf.concat([tf.gather(sentences, source), words[:, tf.newaxis]], axis=1)
            state, ended = tf.gather(state, source), tf.gather(ended, source) | (words == END)
            turns += 1
            if tf.reduce_all(ended):
                break
        self.searches += 1
        if turns > self.longest_found:
            self.longest_found = turns
            print(f"search {self.searches}: a sentence of {turns} words")
        if self.best_score is None or scores[0] > self.best_score:
            self.best_score = float(scores[0])
        return sentences[0], scores[0]


class BeamSearchAsGraph(BeamSearch):
    """A tf.while_loop over tensors; the counters are kept outside of the graph."""

    def search(self, first: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """The best sentence, padded; its score; its length."""
        beams, longest = self.size.beams, self.size.longest
        words = tf.repeat(first, beams)
        sentences = tf.concat([words[:, tf.newaxis], tf.zeros([beams, longest], tf.int32)], axis=1)

        def turn(
            turns: tf.Tensor, sentences: tf.Tensor, words: tf.Tensor, state: tf.Tensor, scores: tf.Tensor, ended: tf.Tensor
        ) -> tuple[tf.Tensor, ...]:
            state, following = self.advance(state, words)
            scores, source, words = self.extend(scores, following, ended)
            column = tf.one_hot(turns + 1, longest + 1, dtype=tf.int32) * words[:, tf.newaxis]
            state, ended = tf.gather(state, source), tf.gather(ended, source) | (words == END)
            return turns + 1, tf.gather(sentences, source) + column, words, state, scores, ended

        start = (0, sentences, words, tf.zeros([beams, self.size.width]),
                 tf.constant([0.0] + [-1e9] * (beams - 1)), tf.zeros([beams], tf.bool))
        turns, sentences, _, _, scores, _ = tf.while_loop(
            lambda turns, *rest: (turns < longest) & ~tf.reduce_all(rest[-1]), turn, start)
        return sentences[0], scores[0], turns

    def compiled(self, jit_compile: bool = False) -> Callable[..., tuple[tf.Tensor, tf.Tensor]]:
        """The search as a graph, its result cut to length."""
        search = tf.function(self.search, autograph=False, jit_compile=jit_compile)

        def step(first: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            sentence, score, turns = search(first)
            length = int(turns)
            self.searches += 1
            if length > self.longest_found:
                self.longest_found = length
                print(f"search {self.searches}: a sentence of {length} words")
            return sentence[: length + 1], score

        return step


PROGRAM = BeamSearch
ADAPTED = None
ADAPTATION = ""
HANDWRITTEN = BeamSearchAsGraph


def batches(count: int, size: Size = CPU) -> list[tuple[tf.Tensor]]:
    """First words."""
    random = np.random.default_rng(1)
    return [(tf.constant(int(random.integers(1, size.words)), tf.int32),) for _ in range(count)]


def rehearse(model: BeamSearch, step: Callable[..., tuple[tf.Tensor, tf.Tensor]]) -> list[tuple[tf.Tensor, tf.Tensor]]:
    """The calls whose results are compared."""
    return [step(*batch) for batch in batches(20)]
