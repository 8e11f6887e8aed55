"""Proximal policy optimisation on CartPole: a rollout, then some epochs on it that stop when the policy has moved far."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import gymnasium
import numpy as np
import tensorflow as tf


@dataclass(frozen=True)
class Size:
    """How big the network is, and how much is played and learned in a step."""

    width: int = 32
    moves: int = 32
    epochs: int = 4
    minibatch: int = 16


CPU = Size()
PAPER = Size(width=64, moves=2048, epochs=10, minibatch=64)


class PPO:
    """A policy and a value function, each with a layer of its own."""

    def __init__(self, size: Size = CPU) -> None:
        random = np.random.default_rng(0)

        def weight(*shape: int) -> tf.Variable:
            return tf.Variable(random.normal(0.0, 0.3, shape), dtype=tf.float32)

        self.policy = [weight(4, size.width), weight(size.width, 2)]
        self.critic = [weight(4, size.width), weight(size.width, 1)]
        self.weights = self.policy + self.critic
        self.env = gymnasium.make("CartPole-v1")
        self.observation, _ = self.env.reset(seed=0)
        self.random = np.random.default_rng(2)
        self.size = size
        self.clip, self.farthest = 0.2, 0.02
        self.reward = 0.0
        self.rewards: list[float] = []
        self.stops = 0

    def scores(self, observations: tf.Tensor) -> tf.Tensor:
        """Of the two moves."""
        return tf.tanh(observations @ self.policy[0]) @ self.policy[1]

    def values(self, observations: tf.Tensor) -> tf.Tensor:
        """What is still to be won."""
        return (tf.tanh(observations @ self.critic[0]) @ self.critic[1])[:, 0]

    def play(self) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor, tf.Tensor, tf.Tensor]:
        """A rollout: observations, moves, log probabilities, advantages, returns."""
        observations, moves, log_probabilities, values, rewards, ends = [], [], [], [], [], []
        for _ in range(self.size.moves):
            now = tf.constant(self.observation[np.newaxis])
            every = tf.nn.log_softmax(self.scores(now))[0]
            move = 0 if self.random.uniform() < float(tf.exp(every[0])) else 1
            observations.append(now[0])
            moves.append(move)
            log_probabilities.append(every[move])
            values.append(float(self.values(now)[0]))
            self.observation, reward, terminated, truncated, _ = self.env.step(move)
            rewards.append(float(reward))
            ends.append(terminated or truncated)
            self.reward += rewards[-1]
            if ends[-1]:
                self.rewards.append(self.reward)
                self.reward = 0.0
                self.observation, _ = self.env.reset()
        values.append(float(self.values(tf.constant(self.observation[np.newaxis]))[0]))
        advantages, ahead = [], 0.0
        for t in reversed(range(self.size.moves)):
            going_on = 0.0 if ends[t] else 1.0
            ahead = rewards[t] + 0.99 * going_on * values[t + 1] - values[t] + 0.99 * 0.95 * going_on * ahead
            advantages.insert(0, ahead)
        returns = [a + v for a, v in zip(advantages, values)]
        return (tf.stack(observations), tf.constant(moves), tf.stack(log_probabilities),
                tf.constant(advantages), tf.constant(returns))

    def learn(
        self, observations: tf.Tensor, moves: tf.Tensor, before: tf.Tensor, advantages: tf.Tensor, returns: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """One step on a minibatch: the loss, and how far the policy had moved."""
        with tf.GradientTape() as tape:
            every = tf.nn.log_softmax(self.scores(observations))
            now = tf.gather(every, moves, batch_dims=1)
            ratio = tf.exp(now - before)
            clipped = tf.clip_by_value(ratio, 1.0 - self.clip, 1.0 + self.clip)
            gain = tf.reduce_mean(tf.minimum(ratio * advantages, clipped * advantages))
            error = tf.reduce_mean((self.values(observations) - returns) ** 2)
            entropy = -tf.reduce_mean(tf.reduce_sum(tf.exp(every) * every, axis=1))
            loss = 0.5 * error - gain - 0.01 * entropy
        gradients, _ = tf.clip_by_global_norm(tape.gradient(loss, self.weights), 0.5)
        for w, g in zip(self.weights, gradients):
            w.assign_sub(0.02 * g)
        return loss, tf.reduce_mean(before - now)

    def step(self) -> tf.Tensor:
        """A rollout and what is learned from it; returns the last loss."""
        observations, moves, before, advantages, returns = self.play()
        advantages = (advantages - tf.reduce_mean(advantages)) / (tf.math.reduce_std(advantages) + 1e-8)
        loss = tf.constant(0.0)
        for epoch in range(self.size.epochs):
            moved = tf.constant(0.0)
            for start in range(0, self.size.moves, self.size.minibatch):
                some = slice(start, start + self.size.minibatch)
                loss, moved = self.learn(observations[some], moves[some], before[some], advantages[some], returns[some])
            if moved > 1.5 * self.farthest:
                self.stops += 1
                print(f"stopped after epoch {epoch + 1}")
                break
        return loss


class PPOAsGraph(PPO):
    """The rollout stays in Python, with a graph for each move; all that is learned from it is one graph."""

    def train(
        self, observations: tf.Tensor, moves: tf.Tensor, before: tf.Tensor, advantages: tf.Tensor, returns: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """The last loss, and after how many epochs it ended."""
        advantages = (advantages - tf.reduce_mean(advantages)) / (tf.math.reduce_std(advantages) + 1e-8)

        def epoch(count: tf.Tensor, loss: tf.Tensor, moved: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
            for start in range(0, self.size.moves, self.size.minibatch):
                some = slice(start, start + self.size.minibatch)
                loss, moved = self.learn(observations[some], moves[some], before[some], advantages[some], returns[some])
            return count + 1, loss, moved

        count, loss, moved = tf.while_loop(
            lambda count, loss, moved: (count < self.size.epochs) & (moved <= 1.5 * self.farthest), epoch, (0, 0.0, 0.0))
        return loss, tf.where(moved > 1.5 * self.farthest, count, 0)

    def compiled(self, jit_compile: bool = False) -> Callable[..., tf.Tensor]:
        """The step: the rollout, then the graph."""
        train = tf.function(self.train, autograph=False, jit_compile=jit_compile)
        self.scores = tf.function(self.scores, autograph=False, jit_compile=jit_compile)
        self.values = tf.function(self.values, autograph=False, jit_compile=jit_compile)

        def step() -> tf.Tensor:
            loss, stopped = train(*self.play())
            if stopped:
                self.stops += 1
                print(f"stopped after epoch {int(stopped)}")
            return loss

        return step


PROGRAM = PPO
ADAPTED = None
ADAPTATION = ""
HANDWRITTEN = PPOAsGraph
# Environments and generators are no values to compare; what they gave is.
UNCOMPARED = ("env", "random")


def batches(count: int) -> list[tuple[()]]:
    """Nothing: the environment is on the object."""
    return [() for _ in range(count)]


def rehearse(model: PPO, step: Callable[..., tf.Tensor]) -> list[tf.Tensor]:
    """The calls whose results are compared."""
    return [step(*batch) for batch in batches(20)]
