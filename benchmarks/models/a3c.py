"""Advantage actor-critic on CartPole: workers with environments of their own take turns, a few moves each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import gymnasium
import numpy as np
import tensorflow as tf


@dataclass(frozen=True)
class Size:
    """How big the network is, how many workers there are and how far each looks ahead."""

    width: int = 32
    workers: int = 2
    moves: int = 8


CPU = Size()
PAPER = Size(width=256, workers=16, moves=20)


class Worker:
    """An environment and where it stands."""

    def __init__(self, seed: int) -> None:
        self.env = gymnasium.make("CartPole-v1")
        self.observation, _ = self.env.reset(seed=seed)
        self.reward = 0.0


class ActorCritic:
    """A policy and a value function with a common first layer."""

    def __init__(self, size: Size = CPU) -> None:
        random = np.random.default_rng(0)

        def weight(*shape: int) -> tf.Variable:
            return tf.Variable(random.normal(0.0, 0.3, shape), dtype=tf.float32)

        self.weights = [weight(4, size.width), weight(size.width), weight(size.width, 2), weight(size.width, 1)]
        self.workers = [Worker(seed) for seed in range(size.workers)]
        self.size = size
        self.turn = 0
        self.discount = 0.99
        self.episodes = 0
        self.best_reward = 0.0
        tf.random.set_seed(3)

    def act(self, observation: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """The scores of the two moves, and the value of where the pole stands."""
        hidden, bias, policy, value = self.weights
        h = tf.tanh(observation @ hidden + bias)
        return h @ policy, (h @ value)[:, 0]

    def play(self, worker: Worker) -> tuple[list[tf.Tensor], list[tf.Tensor], list[tf.Tensor], list[float]]:
        """Some moves: log probabilities, entropies, values and rewards."""
        log_probabilities, entropies, values, rewards = [], [], [], []
        for _ in range(self.size.moves):
            scores, value = self.act(tf.constant(worker.observation[np.newaxis]))
            move = int(tf.random.categorical(scores, 1)[0, 0])
            worker.observation, reward, terminated, truncated, _ = worker.env.step(move)
            every = tf.nn.log_softmax(scores)[0]
            log_probabilities.append(every[move])
            entropies.append(-tf.reduce_sum(tf.exp(every) * every))
            values.append(value[0])
            rewards.append(float(reward))
            worker.reward += float(reward)
            if terminated or truncated:
                self.episodes += 1
                if worker.reward > self.best_reward:
                    self.best_reward = worker.reward
                    print(f"episode {self.episodes}: {worker.reward:.0f} moves")
                worker.reward = 0.0
                worker.observation, _ = worker.env.reset()
                return log_probabilities, entropies, values, [*rewards, 0.0]
        _, value = self.act(tf.constant(worker.observation[np.newaxis]))
        return log_probabilities, entropies, values, [*rewards, float(value[0])]

    def loss(self, worker: Worker) -> tf.Tensor:
        """Of some moves of one worker."""
        log_probabilities, entropies, values, rewards = self.play(worker)
        total, ahead = 0.0, rewards.pop()
        for index in reversed(range(len(rewards))):
            ahead = rewards[index] + self.discount * ahead
            advantage = ahead - values[index]
            total += -log_probabilities[index] * tf.stop_gradient(advantage) + 0.5 * advantage**2 - 0.01 * entropies[index]
        return total / len(rewards)

    def step(self) -> tf.Tensor:
        """One turn of one worker; returns the loss before the update."""
        worker = self.workers[self.turn % len(self.workers)]
        with tf.GradientTape() as tape:
            loss = self.loss(worker)
        gradients, _ = tf.clip_by_global_norm(tape.gradient(loss, self.weights), 1.0)
        for w, g in zip(self.weights, gradients):
            w.assign_sub(0.01 * g)
        self.turn += 1
        return loss


class ActorCriticAsGraph(ActorCritic):
    """A tf.while_loop in which the environment is a tf.numpy_function."""

    def __init__(self, size: Size = CPU) -> None:
        super().__init__(size)
        self.worker = self.workers[0]

    def move(self, move: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """One move of the worker whose turn it is: observation, reward, whether the episode is over."""
        worker = self.worker
        observation, reward, terminated, truncated, _ = worker.env.step(int(move))
        worker.reward += float(reward)
        over = terminated or truncated
        if over:
            self.episodes += 1
            if worker.reward > self.best_reward:
                self.best_reward = worker.reward
                print(f"episode {self.episodes}: {worker.reward:.0f} moves")
            worker.reward = 0.0
            observation, _ = worker.env.reset()
        worker.observation = observation
        return observation.astype(np.float32), np.float32(reward), np.bool_(over)

    def train(self, observation: tf.Tensor) -> tf.Tensor:
        """Some moves and the update."""
        most = self.size.moves
        with tf.GradientTape() as tape:
            arrays = tuple(tf.TensorArray(tf.float32, most, element_shape=[]) for _ in range(4))

            def turn(t: tf.Tensor, observation: tf.Tensor, over: tf.Tensor, arrays: tuple[tf.TensorArray, ...]) -> tuple:
                scores, value = self.act(observation[tf.newaxis])
                move = tf.random.categorical(scores, 1)[0, 0]
                new, reward, over = tf.numpy_function(self.move, [move], [tf.float32, tf.float32, tf.bool])
                every = tf.nn.log_softmax(scores)[0]
                found = every[move], -tf.reduce_sum(tf.exp(every) * every), value[0], tf.ensure_shape(reward, [])
                new, over = tf.ensure_shape(new, [4]), tf.ensure_shape(over, [])
                return t + 1, new, over, tuple(a.write(t, x) for a, x in zip(arrays, found))

            moves, observation, over, arrays = tf.while_loop(
                lambda t, observation, over, arrays: (t < most) & ~over, turn, (0, observation, False, arrays))
            log_probabilities, entropies, values, rewards = (a.stack()[:moves] for a in arrays)
            ahead = tf.where(over, 0.0, self.act(observation[tf.newaxis])[1][0])
            aheads = tf.scan(lambda a, r: r + self.discount * a, rewards, tf.stop_gradient(ahead), reverse=True)
            advantages = aheads - values
            loss = tf.reduce_mean(
                -log_probabilities * tf.stop_gradient(advantages) + 0.5 * advantages**2 - 0.01 * entropies)
        gradients, _ = tf.clip_by_global_norm(tape.gradient(loss, self.weights), 1.0)
        for w, g in zip(self.weights, gradients):
            w.assign_sub(0.01 * g)
        return loss

    def compiled(self, jit_compile: bool = False) -> Callable[..., tf.Tensor]:
        """The step as a graph; whose turn it is, is Python's to know."""
        train = tf.function(self.train, autograph=False, jit_compile=jit_compile)

        def step() -> tf.Tensor:
            self.worker = self.workers[self.turn % len(self.workers)]
            self.turn += 1
            return train(tf.constant(self.worker.observation))

        return step


PROGRAM = ActorCritic
ADAPTED = None
ADAPTATION = ""
HANDWRITTEN = ActorCriticAsGraph
# Random operations in a graph draw from streams of their own.
OTHER_RANDOM_NUMBERS = True
# An environment is no value to compare; what it gave is.
UNCOMPARED = ("env",)


def batches(count: int) -> list[tuple[()]]:
    """Nothing: the environments are on the object."""
    return [() for _ in range(count)]


def rehearse(model: ActorCritic, step: Callable[..., tf.Tensor]) -> list[tf.Tensor]:
    """The calls whose results are compared."""
    return [step(*batch) for batch in batches(20)]
