"""Orbits by an adaptive step size in PyTorch."""

from __future__ import annotations

from typing import Any

import torch

from benchmarks.twins._tensors import tensor


class Orbits:
    """Bodies that attract each other in a plane; one step of the program moves them by a span of time."""

    def __init__(self, program: Any) -> None:
        self.masses, self.state, self.stride = tensor(program.masses), tensor(program.state), tensor(program.stride)
        self.span, self.tolerance = program.size.span, program.size.tolerance
        self.time, self.accepted, self.rejected, self.smallest = 0.0, 0, 0, float("inf")

    def compile(self) -> None:
        """Compile an attempt."""
        self.attempt = torch.compile(self.attempt)  # type: ignore[method-assign]

    batch = staticmethod(lambda: ())

    def rate(self, state: torch.Tensor) -> torch.Tensor:
        """The velocities and accelerations."""
        places, velocities = state[0], state[1]
        apart = places[None] - places[:, None]
        squares = (apart * apart).sum(2) + 1.0
        pull = self.masses[None, :, None] * apart / (squares * torch.sqrt(squares))[:, :, None]
        return torch.stack([velocities, pull.sum(1)])

    def attempt(self, state: torch.Tensor, slope: torch.Tensor, h: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """The state after a stride, the slope there, and the error relative to what is allowed."""
        second = self.rate(state + h / 2.0 * slope)
        third = self.rate(state + 0.75 * h * second)
        new = state + h / 9.0 * (2.0 * slope + 3.0 * second + 4.0 * third)
        fourth = self.rate(new)
        error = h * (-5.0 / 72.0 * slope + second / 12.0 + third / 9.0 - fourth / 8.0)
        return new, fourth, error.abs().max() / self.tolerance

    def step(self) -> torch.Tensor:
        """Move by one span; returns the kinetic energy at its end."""
        t = torch.tensor(0.0)
        slope = self.rate(self.state)
        while t < self.span:
            h = torch.minimum(self.stride, self.span - t)
            new, new_slope, error = self.attempt(self.state, slope, h)
            if error <= 1.0:
                t = t + h
                self.state, slope = new, new_slope
                self.accepted += 1
                if h < self.smallest:
                    self.smallest = float(h)
            else:
                self.rejected += 1
            if h < self.stride and error <= 1.0:
                break
            self.stride = h * torch.clamp(0.9 * error ** (-1.0 / 3.0), 0.2, 5.0)
        self.time += self.span
        if self.rejected > self.accepted:
            print(f"at {self.time:.1f}: more strides rejected than accepted")
        return 0.5 * (self.masses[:, None] * self.state[1] ** 2).sum()


TWIN = Orbits
