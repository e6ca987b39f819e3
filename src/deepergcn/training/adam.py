"""Adam with the moments of all weights in one block of memory."""

from array import array
from collections.abc import Callable, Iterable, Iterator, MutableMapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

_ALIGNED = 16  # elements
_AT_ONCE = 1000  # weights


class FlatAdam(torch.optim.Adam):
    """Fused Adam: the same bits, states and options as PyTorch's.

    PyTorch makes three tensors for every weight. In a network of a thousand layers these are 60,000, which take a
    quarter of the memory of their numbers beside it. Here they are views of one tensor, made when they are used; those
    of few weights are kept, since making them again takes a part of a small step.
    """

    def __init__(self, weights: Iterable[nn.Parameter], **options: Any) -> None:
        super().__init__(weights, fused=True, **options)
        self.state: Any = _Moments(self._weights())

    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """Update all weights that have a gradient."""
        assert closure is None
        weights = self._weights()
        for start in range(0, len(weights), _AT_ONCE):
            self.step_on(weights[start : start + _AT_ONCE])

    def step_on(self, weights: Sequence[nn.Parameter]) -> None:
        """Update those of the weights that have a gradient."""
        (group,) = self.param_groups
        every, group["params"] = group["params"], weights
        try:
            super().step()
        finally:
            group["params"] = every

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Replace all moments."""
        super().load_state_dict(state_dict)
        loaded, self.state = self.state, _Moments(self._weights())
        self.state.update(loaded)

    def _weights(self) -> list[nn.Parameter]:
        (group,) = self.param_groups
        return list(group["params"])


class _Moments(MutableMapping[Tensor, dict[str, Tensor]]):
    """Adam's state by weight, as PyTorch has it; a weight without steps has none.

    Memory is taken with the first state, when the weights are where they will be; views of it are kept for up to
    ``_AT_ONCE`` weights.
    """

    def __init__(self, weights: Sequence[nn.Parameter]) -> None:
        self._weights: dict[Tensor, int] = {weight: number for number, weight in enumerate(weights)}
        self._starts = array("q")
        self._moments: dict[tuple[torch.dtype, torch.device], Tensor] = {}
        self._steps: dict[torch.device, Tensor] = {}
        self._kept: dict[int, dict[str, Tensor]] = {}

    def __getitem__(self, weight: Tensor) -> dict[str, Tensor]:
        number = self._weights[weight]
        kept = self._kept.get(number)
        if kept is None:
            kept = self._views(weight, number)
            if len(self._weights) <= _AT_ONCE:
                self._kept[number] = kept
        return kept

    def _views(self, weight: Tensor, number: int) -> dict[str, Tensor]:
        if not self._starts:
            self._allocate()
        mean, square = (
            moments.as_strided(weight.shape, weight.stride(), moments.storage_offset() + self._starts[number])
            for moments in self._moments[weight.dtype, weight.device]
        )
        return {"step": self._steps[weight.device][number], "exp_avg": mean, "exp_avg_sq": square}

    def __setitem__(self, weight: Tensor, state: dict[str, Tensor]) -> None:
        for name, place in self[weight].items():
            place.copy_(state[name])

    def __delitem__(self, weight: Tensor) -> None:
        for place in self[weight].values():
            place.zero_()

    def __iter__(self) -> Iterator[Tensor]:
        stepped = {device: steps.tolist() for device, steps in self._steps.items()}
        return (weight for weight, number in self._weights.items() if stepped and stepped[weight.device][number])

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _allocate(self) -> None:
        sizes: dict[tuple[torch.dtype, torch.device], int] = {}
        for weight in self._weights:
            key = weight.dtype, weight.device
            self._starts.append(sizes.get(key, 0))
            sizes[key] = self._starts[-1] + -(-weight.numel() // _ALIGNED) * _ALIGNED
        self._moments = {key: torch.zeros(2, size, dtype=key[0], device=key[1]) for key, size in sizes.items()}
        self._steps = {device: torch.zeros(len(self._weights), device=device) for _, device in sizes}
