"""Meta-learning of sine waves in PyTorch."""

from __future__ import annotations

from typing import Any

import torch

from benchmarks.twins._tensors import descend, tensor, weight


class MAML:
    """Learns weights from which a few steps are enough for a new task."""

    def __init__(self, program: Any) -> None:
        self.weights = [weight(one) for one in program.weights]
        self.size = program.size
        self.inner_rate, self.outer_rate = program.inner_rate, program.outer_rate
        self.best: float | None = None
        self.since_best = 0

    def compile(self) -> None:
        """Compile the network; gradients of gradients are not compiled."""
        self.predict = torch.compile(self.predict, backend="aot_eager")  # type: ignore[method-assign]

    batch = staticmethod(lambda *values: tuple(tensor(one) for one in values))

    def predict(self, x: torch.Tensor, weights: list[torch.Tensor]) -> torch.Tensor:
        """The network with some weights."""
        for index in range(0, len(weights), 2):
            x = x @ weights[index] + weights[index + 1]
            if index + 2 < len(weights):
                x = torch.relu(x)
        return x

    def adapt(self, x: torch.Tensor, y: torch.Tensor) -> list[torch.Tensor]:
        """The weights after some steps on one task."""
        weights = self.weights
        for _ in range(self.size.inner_steps):
            loss = ((self.predict(x, weights) - y) ** 2).mean()
            gradients = torch.autograd.grad(loss, weights, create_graph=True)
            weights = [w - self.inner_rate * g for w, g in zip(weights, gradients, strict=True)]
        return weights

    def step(self, x: torch.Tensor, y: torch.Tensor, x_new: torch.Tensor, y_new: torch.Tensor) -> torch.Tensor:
        """One step of meta-learning; keeps account of the best loss."""
        losses = []
        for task in range(self.size.tasks):
            weights = self.adapt(x[task], y[task])
            losses.append(((self.predict(x_new[task], weights) - y_new[task]) ** 2).mean())
        loss = torch.stack(losses).sum() / len(losses)
        descend(self.weights, [one.clamp(-10.0, 10.0) for one in torch.autograd.grad(loss, self.weights)], self.outer_rate)
        if self.best is None or loss < self.best:
            self.best, self.since_best = loss.item(), 0
        else:
            self.since_best += 1
        return loss.detach()


TWIN = MAML
