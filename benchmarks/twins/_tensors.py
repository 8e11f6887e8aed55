"""From TensorFlow's values to PyTorch's."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import torch


def tensor(value: Any) -> torch.Tensor:
    """A tensor with the same values; integers are 64 bits wide, as PyTorch wants its labels."""
    found = torch.from_numpy(np.array(value))
    return found.long() if found.dtype == torch.int32 else found


def weight(value: Any, *permutation: int) -> torch.Tensor:
    """A leaf of the graph of gradients; with `permutation`, the axes in another order."""
    found = tensor(value)
    return (found.permute(*permutation).contiguous() if permutation else found).requires_grad_()


def descend(weights: Iterable[torch.Tensor], gradients: Iterable[torch.Tensor | None], rate: float) -> None:
    """A step of gradient descent."""
    with torch.no_grad():
        for one, gradient in zip(weights, gradients, strict=True):
            if gradient is not None:
                one -= rate * gradient


class Momentum:
    """Gradient descent with momentum."""

    def __init__(self, weights: list[torch.Tensor], rate: float) -> None:
        self.weights, self.rate = weights, rate
        self.velocity = [torch.zeros_like(one) for one in weights]

    def step(self, loss: torch.Tensor) -> None:
        """Follow the gradient of a loss."""
        with torch.no_grad():
            for one, velocity, gradient in zip(self.weights, self.velocity, torch.autograd.grad(loss, self.weights), strict=True):
                velocity.mul_(0.9).add_(gradient)
                one -= self.rate * velocity
