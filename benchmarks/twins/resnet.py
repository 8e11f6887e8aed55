"""The small residual network in PyTorch, channels first."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional

from benchmarks.twins._tensors import Momentum, tensor, weight


def convolved(x: torch.Tensor, kernel: torch.Tensor, stride: int) -> torch.Tensor:
    """Padded as TensorFlow pads: what is left over comes last."""
    around = max(kernel.shape[2] - stride, 0)
    before = around // 2
    return functional.conv2d(functional.pad(x, [before, around - before] * 2), kernel, stride=stride)


class BatchNorm:
    """Normalises by the batch while training and by running averages otherwise."""

    def __init__(self, norm: Any) -> None:
        self.scale, self.shift = weight(norm.scale), weight(norm.shift)
        self.mean, self.variance = tensor(norm.mean), tensor(norm.variance)

    def __call__(self, x: torch.Tensor, training: bool) -> torch.Tensor:
        if training:
            mean, variance = x.mean([0, 2, 3]), x.var([0, 2, 3], correction=0)
            with torch.no_grad():
                self.mean.mul_(0.9).add_(0.1 * mean)
                self.variance.mul_(0.9).add_(0.1 * variance)
        else:
            mean, variance = self.mean, self.variance
        by = torch.rsqrt(variance + 1e-5) * self.scale
        return (x - mean[:, None, None]) * by[:, None, None] + self.shift[:, None, None]


class Block:
    """Two convolutions and a way round them."""

    def __init__(self, block: Any) -> None:
        self.first, self.second = weight(block.first, 3, 2, 0, 1), weight(block.second, 3, 2, 0, 1)
        self.norms = [BatchNorm(norm) for norm in block.norms]
        self.stride = block.stride
        self.shortcut = None if block.shortcut is None else weight(block.shortcut, 3, 2, 0, 1)
        norms = [one for norm in self.norms for one in (norm.scale, norm.shift)]
        self.weights = [self.first, self.second, *norms, *([] if self.shortcut is None else [self.shortcut])]

    def __call__(self, x: torch.Tensor, training: bool) -> torch.Tensor:
        y = torch.relu(self.norms[0](convolved(x, self.first, self.stride), training))
        y = self.norms[1](convolved(y, self.second, 1), training)
        if self.shortcut is not None:
            x = convolved(x, self.shortcut, self.stride)
        return torch.relu(x + y)


class ResNet:
    """Blocks of growing width; ``training`` is switched on the object."""

    def __init__(self, program: Any) -> None:
        self.entry, self.readout = weight(program.entry, 3, 2, 0, 1), weight(program.readout)
        self.blocks = [Block(block) for block in program.blocks]
        self.optimizer = Momentum([self.entry, self.readout, *(one for block in self.blocks for one in block.weights)], 0.02)
        self.training = True

    def compile(self) -> None:
        """Compile the loss."""
        self.loss = torch.compile(self.loss)  # type: ignore[method-assign]

    batch = staticmethod(lambda images, labels: (tensor(images).permute(0, 3, 1, 2).contiguous(), tensor(labels)))

    def loss(self, images: torch.Tensor, labels: torch.Tensor, training: bool) -> torch.Tensor:
        """Mean cross entropy."""
        x = convolved(images, self.entry, 1)
        for block in self.blocks:
            x = block(x, training)
        return functional.cross_entropy(x.mean([2, 3]) @ self.readout, labels)

    def step(self, images: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """The loss of a batch; one step of training if the switch says so."""
        loss = self.loss(images, labels, self.training)
        if self.training:
            self.optimizer.step(loss)
        return loss.detach()


TWIN = ResNet
