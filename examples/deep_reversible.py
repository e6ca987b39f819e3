"""A network of 224 layers that keeps the activations of one.

A reversible layer can be undone, so that backward rebuilds its input instead of
keeping it. Here the node-sized tensors that autograd keeps are counted: they do not
grow with the depth.

It prints::

    28 layers: finite gradients True
    224 layers: finite gradients True
    saved tensors the same: True
"""

import torch
from torch.autograd.graph import saved_tensors_hooks

from deepergcn.nn import RevGEN


def saved_by(num_layers: int) -> int:
    """The bytes of all node-sized tensors that autograd keeps for backward."""
    torch.manual_seed(0)
    model = RevGEN(
        8, 2, hidden_channels=16, num_layers=num_layers, groups=2, norm="layer"
    )
    x, edge_index = torch.randn(200, 8), torch.randint(200, (2, 1000))
    kept: dict[int, int] = {}

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        if tensor.dim() == 2 and tensor.shape[0] == len(x):
            kept[tensor.data_ptr()] = tensor.nbytes
        return tensor

    with saved_tensors_hooks(pack, lambda tensor: tensor):
        loss = model(x, edge_index).square().mean()
    loss.backward()
    finite = all(
        parameter.grad is None or bool(parameter.grad.isfinite().all())
        for parameter in model.parameters()
    )
    print(f"{num_layers} layers: finite gradients {finite}")
    return sum(kept.values())


if __name__ == "__main__":
    print(f"saved tensors the same: {saved_by(28) == saved_by(224)}")
