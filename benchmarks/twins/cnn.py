"""The LeNet-like network in PyTorch, channels first."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional

from benchmarks.twins._tensors import Momentum, tensor, weight


class LeNet:
    """Two convolutions, three dense layers."""

    def __init__(self, program: Any) -> None:
        self.convolutions = [(weight(kernel, 3, 2, 0, 1), weight(bias)) for kernel, bias in program.convolutions]
        self.dense = [(weight(kernel), weight(bias)) for kernel, bias in program.dense]
        first, bias = self.dense[0]  # its rows are places and channels, in this order
        rows = first.detach().reshape(5, 5, 16, -1).permute(2, 0, 1, 3).reshape(first.shape)
        self.dense[0] = (rows.contiguous().requires_grad_(), bias)
        self.optimizer = Momentum([one for layer in self.convolutions + self.dense for one in layer], program.learning_rate)

    def compile(self) -> None:
        """Compile the loss."""
        self.loss = torch.compile(self.loss)  # type: ignore[method-assign]

    batch = staticmethod(lambda images, labels: (tensor(images).permute(0, 3, 1, 2).contiguous(), tensor(labels)))

    def loss(self, images: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Mean cross entropy of the ten classes."""
        x = images
        for (kernel, bias), padding in zip(self.convolutions, [2, 0], strict=True):
            x = functional.max_pool2d(torch.relu(functional.conv2d(x, kernel, bias, padding=padding)), 2)
        x = x.flatten(1)
        for kernel, bias in self.dense[:-1]:
            x = torch.relu(x @ kernel + bias)
        kernel, bias = self.dense[-1]
        return functional.cross_entropy(x @ kernel + bias, labels)

    def step(self, images: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """One step of training; returns the loss before it."""
        loss = self.loss(images, labels)
        self.optimizer.step(loss)
        return loss.detach()


TWIN = LeNet
