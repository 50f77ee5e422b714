"""The optimiser of the embedded learners."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Adam:
    """Adam for one array (Kingma and Ba, ICLR 2015), ascending.

    Args:
        shape: of the parameters.
        rate: step size, > 0.
        beta1: decay of the mean gradient, in [0, 1).
        beta2: decay of the mean squared gradient, in [0, 1).
    """

    def __init__(
        self, shape: tuple[int, ...], rate: float, beta1: float = 0.9, beta2: float = 0.99
    ) -> None:
        self.rate, self.beta1, self.beta2 = rate, beta1, beta2
        self._first: Array = np.zeros(shape)
        self._second: Array = np.zeros(shape)
        self._steps = 0

    def step(self, gradient: Array) -> Array:
        """What to add to the parameters to climb along ``gradient``."""
        self._steps += 1
        self._first += (1 - self.beta1) * (gradient - self._first)
        self._second += (1 - self.beta2) * (gradient**2 - self._second)
        first = self._first / (1 - self.beta1**self._steps)
        second = self._second / (1 - self.beta2**self._steps)
        out: Array = self.rate * first / (np.sqrt(second) + 1e-8)
        return out
