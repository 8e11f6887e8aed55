"""Train a small convolutional network on the handwritten digits that come with scikit-learn.

This is the plain program: TensorFlow operations, Python control flow, Python state. It knows nothing of
graphs, and it runs on its own:

    python examples/digits/train.py --steps 300

What makes it more than a row of operations is what people write every day: a counter and a list on the
object, a clipping branch that looks at a tensor, a loop that searches a step size, and prints on the way.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np
import tensorflow as tf

MAX_HALVINGS = 5
REPORT_EVERY = 50

# In double precision rounding stays far below what a comparison or a printed digit could show, even after
# hundreds of steps; in single precision two correct runs drift apart.
DTYPE = tf.float64


class Trainer:
    """A network of one convolution and two dense layers, and the momentum method that trains it."""

    def __init__(self, seed: int = 0) -> None:
        random = np.random.default_rng(seed)

        def weight(*shape: int) -> tf.Variable:
            scale = np.sqrt(2.0 / np.prod(shape[:-1]))
            return tf.Variable(random.normal(0.0, scale, shape), dtype=DTYPE)

        self.weights = [
            weight(3, 3, 1, 8), tf.Variable(tf.zeros([8], DTYPE)),
            weight(4 * 4 * 8, 32), tf.Variable(tf.zeros([32], DTYPE)),
            weight(32, 10), tf.Variable(tf.zeros([10], DTYPE)),
        ]
        self.velocity = [tf.Variable(tf.zeros_like(w)) for w in self.weights]
        self.learning_rate = 0.2
        self.momentum = 0.9
        self.max_norm = 1.0
        self.step_count = 0
        self.clipped = 0
        self.halvings = 0
        self.average: tf.Tensor | None = None
        self.losses: list[float] = []

    def logits(self, weights: list[tf.Tensor], images: tf.Tensor) -> tf.Tensor:
        """The scores of the ten digits for each image."""
        kernel, bias, hidden, hidden_bias, out, out_bias = weights
        x = tf.nn.relu(tf.nn.conv2d(images, kernel, strides=1, padding="SAME") + bias)
        x = tf.nn.max_pool2d(x, ksize=2, strides=2, padding="SAME")
        x = tf.reshape(x, [-1, 4 * 4 * 8])
        x = tf.nn.relu(x @ hidden + hidden_bias)
        return x @ out + out_bias

    def loss(self, weights: list[tf.Tensor], images: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
        """Mean cross entropy."""
        scores = self.logits(weights, images)
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, scores))

    def moved(self, size: float) -> list[tf.Tensor]:
        """The weights after a step of this size."""
        return [w - size * v for w, v in zip(self.weights, self.velocity)]

    def step(self, images: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
        """One step of training; returns the loss before it."""
        with tf.GradientTape() as tape:
            loss = self.loss(self.weights, images, labels)
        gradients = tape.gradient(loss, self.weights)

        norm = tf.linalg.global_norm(gradients)
        if norm > self.max_norm:
            gradients = [g * (self.max_norm / norm) for g in gradients]
            self.clipped += 1

        for v, g in zip(self.velocity, gradients):
            v.assign(self.momentum * v + g)

        # A step that would raise the loss of its own batch is too long: halve it.
        size = self.learning_rate
        halvings = 0
        while halvings < MAX_HALVINGS and self.loss(self.moved(size), images, labels) > loss:
            size /= 2
            halvings += 1
        for w, new in zip(self.weights, self.moved(size)):
            w.assign(new)

        self.halvings += halvings
        self.record(loss, size)
        return loss

    def record(self, loss: tf.Tensor, size: float) -> None:
        """Keep the books of one step, and say what is worth saying."""
        self.step_count += 1
        self.losses.append(float(loss))
        if self.average is None:
            self.average = loss
        if loss > 4.0 * self.average:
            print(f"step {self.step_count}: the loss jumped to {float(loss):.4f}")
        self.average = 0.9 * self.average + 0.1 * loss
        if self.step_count % REPORT_EVERY == 0:
            print(f"step {self.step_count}: loss {float(self.average):.4f}, step size {size:.4f}, "
                  f"{self.clipped} clipped, {self.halvings} halvings")


def load_images() -> tuple[np.ndarray, np.ndarray]:
    """The 1,797 images, 8 x 8 x 1 with values from 0 to 1, and their labels."""
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        raise SystemExit("This example needs scikit-learn: pip install imp2tf[examples]") from None
    digits = load_digits()
    return digits.images[..., np.newaxis] / 16.0, digits.target


def batches(steps: int, batch_size: int = 64, seed: int = 1) -> Iterator[tuple[tf.Tensor, tf.Tensor]]:
    """As many random batches as there are steps; the same ones for the same seed."""
    images, labels = load_images()
    random = np.random.default_rng(seed)
    for _ in range(steps):
        chosen = random.integers(0, len(images), batch_size)
        yield tf.constant(images[chosen], DTYPE), tf.constant(labels[chosen], tf.int32)


def accuracy(trainer: Trainer) -> float:
    """The share of all images that the network reads correctly."""
    images, labels = load_images()
    scores = trainer.logits(trainer.weights, tf.constant(images, DTYPE))
    return float(np.mean(np.argmax(scores, axis=1) == labels))


def main() -> None:
    """Train and report."""
    parser = argparse.ArgumentParser(description="Train a small network on handwritten digits.")
    parser.add_argument("--steps", type=int, default=300, help="steps of training (default: %(default)s)")
    steps = parser.parse_args().steps
    trainer = Trainer()
    for images, labels in batches(steps):
        trainer.step(images, labels)
    print(f"accuracy {accuracy(trainer):.1%} after {trainer.step_count} steps")


if __name__ == "__main__":
    main()
