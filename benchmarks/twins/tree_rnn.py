"""The recursive network over trees in PyTorch."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional

from benchmarks.models.trees import Tree
from benchmarks.twins._tensors import descend, weight


class TreeRNN:
    """The recursion is Python's, over objects."""

    def __init__(self, program: Any) -> None:
        self.embedding, self.kernel, self.bias, self.readout = self.weights = [weight(one) for one in program.weights]
        self.trees = 0
        self.best: float | None = None

    def compile(self) -> None:
        """Compile what a node does with the vectors of its children."""
        self.joined = torch.compile(self.joined)  # type: ignore[method-assign]

    batch = staticmethod(lambda tree: (tree,))

    def joined(self, left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
        """The vector of a node."""
        return torch.tanh(torch.cat([left, right], dim=1) @ self.kernel + self.bias)

    def vector(self, tree: Tree, scores: list[torch.Tensor], labels: list[int]) -> torch.Tensor:
        """The vector of a node; collects the scores and labels of all nodes on the way."""
        if tree.is_leaf:
            found = self.embedding[tree.word][None]
        else:
            found = self.joined(self.vector(tree.left, scores, labels), self.vector(tree.right, scores, labels))
        scores.append(found @ self.readout)
        labels.append(tree.label)
        return found

    def step(self, tree: Tree) -> torch.Tensor:
        """One step of training; returns the loss before it."""
        scores: list[torch.Tensor] = []
        labels: list[int] = []
        self.vector(tree, scores, labels)
        loss = functional.cross_entropy(torch.cat(scores), torch.tensor(labels))
        descend(self.weights, torch.autograd.grad(loss, self.weights, allow_unused=True), 0.1)
        self.trees += 1
        if self.best is None or loss < self.best:
            self.best = loss.item()
        return loss.detach()


TWIN = TreeRNN
