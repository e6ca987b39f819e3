"""FLAG: adversarial perturbation of the node embeddings, a regularizer for graphs."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from deepergcn.errors import InputError
from deepergcn.nn.networks.hetero import HeteroDeeperGCN
from deepergcn.runs.model.network import AnyNetwork


def flag_step(model: AnyNetwork, num_nodes: int, ascents: int, step: float, descend: Callable[[int], Tensor]) -> Tensor:
    r"""Gradients of the weights, averaged over perturbations that make the loss larger and larger.

    The embeddings h of the nodes become h + d, with d drawn from U(-step, step) and then moved ``ascents - 1`` times by
    ``step`` times the sign of the loss's gradient (Kong et al., *Robust Optimization as Data Augmentation for
    Large-scale Graphs*, 2022), so that no entry of d ever exceeds ``ascents * step``.

    Args:
        model: the network, with a node encoder, to whose output d is added.
        num_nodes: the number of nodes of the batch.
        ascents: the number of perturbations, each with a forward and a backward pass.
        step: the size of a step of the perturbation.
        descend: computes the loss of perturbation number i, calls backward on ``1 / ascents`` of it, and returns it.

    Returns:
        The loss of the last, strongest perturbation.
    """
    if isinstance(model, HeteroDeeperGCN):
        raise InputError("training.flag_ascents: expected 0, since every node type has its own encoder")
    encoder = model.node_encoder
    if encoder is None:
        raise InputError("training.flag_ascents: expected 0, since the network has no node encoder to perturb")
    device = next(model.parameters()).device
    delta = torch.empty(num_nodes, model.hidden_channels, device=device).uniform_(-step, step).requires_grad_()
    for ascent in range(ascents):
        with _added(encoder, delta):
            loss = descend(ascent)
        if ascent < ascents - 1:
            assert delta.grad is not None
            delta = (delta.detach() + step * delta.grad.sign()).requires_grad_()
    return loss


@contextmanager
def _added(encoder: nn.Module, delta: Tensor) -> Iterator[None]:
    """Add ``delta`` to the output of the encoder."""
    handle = encoder.register_forward_hook(lambda module, inputs, output: output + delta)
    try:
        yield
    finally:
        handle.remove()
