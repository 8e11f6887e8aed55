"""Beam search over a small language model: a tensor that grows, an early exit, a list of scores.

Runs as plain Python and converted by imp2tf; fails where the two differ.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import tensorflow as tf

import imp2tf

WORDS, END, WIDTH, LONGEST = 30, 0, 4, 20

Found = tuple[tf.Tensor, tf.Tensor, list[tf.Tensor]]


class BeamSearch:
    """Looks for the most probable sentence of a model that knows which word likes to follow which."""

    def __init__(self) -> None:
        likes = tf.random.stateless_normal([WORDS, WORDS], seed=[1, 3]) * 2.0
        self.scores = likes - 9.0 * tf.eye(WORDS) + 2.0 * tf.one_hot(END, WORDS)
        self.searches = 0

    def search(self, first: tf.Tensor) -> Found:
        """The sentences from this word on, best first; their scores; the best score after each word."""
        sentences = tf.reshape(first, [1, 1])
        totals = tf.zeros([1])
        best = []
        for _ in range(LONGEST):
            ended = sentences[:, -1:] == END
            following = tf.nn.log_softmax(tf.gather(self.scores, sentences[:, -1]))
            stay_ended = tf.where(tf.range(WORDS) == END, 0.0, -1e9)
            candidates = totals[:, None] + tf.where(ended, stay_ended, following)
            totals, chosen = tf.math.top_k(tf.reshape(candidates, [-1]), WIDTH)
            sentences = tf.concat([tf.gather(sentences, chosen // WORDS), chosen[:, None] % WORDS], axis=1)
            best.append(totals[0])
            if sentences[0, -1] == END:
                break
        self.searches += 1
        return sentences, totals, best


def search_all(search: Callable[[tf.Tensor], Found]) -> tuple[list[Found], float]:
    """Search from each word, twice; also the seconds of the second time."""
    for _ in range(2):
        start = time.perf_counter()
        found = [search(tf.constant(word)) for word in range(1, WORDS)]
    return found, time.perf_counter() - start


def same(a: Found, b: Found) -> bool:
    """Whether two searches found the same."""
    scores = zip([*a[1], *a[2]], [*b[1], *b[2]], strict=True)
    return bool(tf.reduce_all(a[0] == b[0])) and all(abs(x - y) < 1e-4 for x, y in scores)


def main() -> int:
    """Search both ways and compare."""
    plain, converted = BeamSearch(), BeamSearch()
    expected, plain_seconds = search_all(plain.search)
    search = imp2tf.convert(converted.search)
    found, seconds = search_all(search)
    for sentences, totals, best in expected[:5]:
        print(f"{float(totals[0]):7.3f} after {len(best):2} words: {sentences[0].numpy().tolist()}")
    equal = all(map(same, expected, found)) and plain.searches == converted.searches
    print("{graph_calls} of {calls} calls as a graph,".format(**search.stats()), end=" ")
    print(f"{plain_seconds / seconds:.1f} times as fast")
    print(f"imp2tf {'equal to' if equal else 'DIFFERS from'} plain Python")
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main())
