"""The LSTM language model in PyTorch."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional

from benchmarks.twins._tensors import descend, tensor, weight


class LanguageModel:
    """A Python loop over time, and a state that lives on from batch to batch."""

    def __init__(self, program: Any) -> None:
        self.embedding, self.kernel, self.bias, self.readout = self.weights = [weight(one) for one in program.weights]
        self.learning_rate = program.learning_rate
        self.state = (tensor(program.state[0]), tensor(program.state[1]))

    def compile(self) -> None:
        """Compile the loss."""
        self.loss = torch.compile(self.loss)  # type: ignore[method-assign]

    batch = staticmethod(lambda words, targets: (tensor(words), tensor(targets)))

    def loss(self, words: torch.Tensor, targets: torch.Tensor, h: torch.Tensor, c: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Mean cross entropy of the next words, and the state after the last word."""
        inputs = functional.one_hot(words, self.embedding.shape[0]).float() @ self.embedding
        outputs = []
        for t in range(words.shape[1]):
            gates = torch.cat([inputs[:, t], h], dim=1) @ self.kernel + self.bias
            keep, take, give, new = gates.chunk(4, dim=1)
            c = torch.sigmoid(keep) * c + torch.sigmoid(take) * torch.tanh(new)
            h = torch.sigmoid(give) * torch.tanh(c)
            outputs.append(h)
        scores = torch.stack(outputs, dim=1) @ self.readout
        return functional.cross_entropy(scores.flatten(0, 1), targets.flatten()), h, c

    def step(self, words: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """One step of training; returns the loss before it."""
        loss, h, c = self.loss(words, targets, *self.state)
        self.state = (h.detach(), c.detach())
        gradients = torch.autograd.grad(loss, self.weights)
        norm = torch.sqrt(sum((one**2).sum() for one in gradients))
        if norm > 1.0:
            gradients = [one / norm for one in gradients]
        descend(self.weights, gradients, self.learning_rate)
        return loss.detach()


TWIN = LanguageModel
