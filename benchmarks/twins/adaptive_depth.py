"""Adaptive computation time in PyTorch."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional

from benchmarks.twins._tensors import descend, tensor, weight


class AdaptiveDepth:
    """Each turn adds to a halting probability, and training pays for turns."""

    def __init__(self, program: Any) -> None:
        self.entry, self.kernel, self.halt, self.readout, self.halt_bias = self.weights = [weight(one) for one in program.weights]
        self.deepest, self.price = program.size.deepest, program.price
        self.turns = 0
        self.depths: list[int] = []
        self.best: float | None = None

    def compile(self) -> None:
        """Compile a turn."""
        self.turn = torch.compile(self.turn)  # type: ignore[method-assign]

    batch = staticmethod(lambda inputs, labels: (tensor(inputs), tensor(labels)))

    def turn(self, h: torch.Tensor, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """A new state, and the probability of halting there."""
        h = torch.tanh(h @ self.kernel + x)
        return h, torch.sigmoid(h @ self.halt + self.halt_bias)[:, 0]

    def think(self, inputs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, int]:
        """The mean state by probability, the price of thinking, and how deep it went."""
        x = inputs @ self.entry
        h, mean = torch.zeros_like(x), torch.zeros_like(x)
        halted, price = torch.zeros(x.shape[0]), torch.zeros(x.shape[0])
        depth = 0
        while True:
            h, p = self.turn(h, x)
            depth += 1
            running = (halted < 0.99).float()
            last = (halted + p >= 0.99) | (depth == self.deepest)
            share = running * torch.where(last, 1.0 - halted, p)
            mean = mean + share[:, None] * h
            halted = halted + share
            price = price + running
            if torch.all(halted >= 0.99):
                break
        self.turns += depth
        return mean, price.mean(), depth

    def step(self, inputs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """One step of training; returns the loss before it."""
        mean, price, depth = self.think(inputs)
        loss = functional.binary_cross_entropy_with_logits((mean @ self.readout)[:, 0], labels) + self.price * price
        descend(self.weights, torch.autograd.grad(loss, self.weights), 0.1)
        self.depths.append(depth)
        if self.best is None or loss < self.best:
            self.best = loss.item()
        return loss.detach()


TWIN = AdaptiveDepth
