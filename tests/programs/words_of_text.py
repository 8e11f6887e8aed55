"""Text that is split where only the run knows it: loops over its words, vocabularies, words joined again."""

import tensorflow as tf

from tests.programs import World, each, program, text


@program("words_of_text", graph=True)
def vocabulary_that_grows() -> World:
    vocab = {"the": 1, "cat": 2}

    def fn(s):
        ids = []
        for w in s.numpy().decode().lower().split():
            ids.append(vocab.setdefault(w, len(vocab) + 1))
        return tf.constant(ids)
    return fn, each(text("the cat"), text("The dog"), text("cat cat sat"), text("dog")), lambda: vocab


@program("words_of_text", graph=True)
def words_looked_up() -> World:
    vocab = {"the": 1, "cat": 2}

    def fn(s):
        ids = [vocab.get(w, 0) for w in s.numpy().decode().split()]
        return ids, len(ids), tf.reduce_sum(ids)
    return fn, each(text("the cat"), text("The dog"), text("cat cat sat"), text("dog"))


@program("words_of_text", graph=True)
def longest_word_and_counts() -> World:
    def fn(s):
        best = ""
        counts = {}
        for w in s.numpy().decode().strip().split(","):
            if len(w) > len(best):
                best = w
            counts[w] = counts.get(w, 0) + 1
        return best, counts
    return fn, each(text("the,cat"), text("The,,dog,"), text("é,catcat,é"), text(""))


@program("words_of_text", graph=True)
def numbers_parsed_from_text() -> World:
    def fn(s):
        total = 0.0
        for i, part in enumerate(s.numpy().decode().split(";")):
            total += float(part) * i
        return total, s.numpy().decode().splitlines()[0]
    return fn, each(text("1;2.5"), text("3"), text("1;2;3"))


@program("words_of_text", graph=True)
def uppercase_first_and_join() -> World:
    def fn(s):
        out = []
        for w in s.numpy().decode().split():
            out.append(w.capitalize() if w.startswith("c") else w)
        return " ".join(out), "-".join(w[::-1] for w in s.numpy().decode().split())
    return fn, each(text("the cat"), text("cat dog"), text("x"))
