"""Slim modules: hooks work as ever."""

import copy
import pickle
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.nn import SAGEConv

from deepergcn.nn import RevGEN
from deepergcn.nn.reversible.slim import Hooks, slim


def modules() -> tuple[nn.Linear, nn.Linear]:
    both = nn.Linear(2, 2), nn.Linear(2, 2)
    for module in both:
        slim(module)
    return both


def test_hooks_are_those_of_one_module() -> None:
    """Also those that take keywords or are always called, which modules mark together."""
    one, other = modules()
    seen: list[str] = []
    ways: list[Callable[[], object]] = [
        lambda: one.register_forward_pre_hook(lambda m, args: seen.append("before")),
        lambda: one.register_forward_pre_hook(
            lambda m, args, kwargs: seen.append("first"), prepend=True, with_kwargs=True
        ),
        lambda: one.register_forward_hook(lambda m, args, out: seen.append("after")),
        lambda: one.register_forward_hook(
            lambda m, a, k, out: seen.append("always"), always_call=True, with_kwargs=True
        ),
    ]
    handles = [way() for way in ways]
    x = torch.ones(1, 2)
    other(x)
    assert seen == []
    one(x)
    assert seen == ["first", "before", "after", "always"]
    for handle in handles:
        handle.remove()  # type: ignore[attr-defined]
    one(x)
    assert len(seen) == 4
    one.register_forward_hook(lambda m, args, out: seen.append("with two arguments"))
    one(x)
    assert seen[4:] == ["with two arguments"]


def test_gradients_and_states_have_hooks() -> None:
    one, other = modules()
    seen: list[str] = []
    one.register_full_backward_hook(lambda m, grad_in, grad_out: seen.append("gradient"))
    one.register_state_dict_post_hook(lambda m, state, prefix, metadata: seen.append("state"))
    one.register_load_state_dict_post_hook(lambda m, keys: seen.append("loaded"))
    for module in (other, one):
        module(torch.ones(1, 2, requires_grad=True)).sum().backward()
        module.load_state_dict(module.state_dict())
    assert seen == ["gradient", "state", "loaded"]


def test_hooks_of_pytorch_geometric() -> None:
    conv = SAGEConv(2, 2)
    slim(conv)
    assert isinstance(conv._message_forward_hooks, Hooks)
    seen: list[Tensor] = []
    conv.register_message_forward_hook(lambda m, inputs, output: seen.append(output))
    conv(torch.ones(3, 2), torch.tensor([[0, 1], [1, 2]]))
    assert len(seen) == 1


def test_order() -> None:
    hooks = Hooks({1: "a", 2: "b", 3: "c"})
    hooks.move_to_end(1)
    hooks.move_to_end(3, last=False)
    assert list(hooks.items()) == [(3, "c"), (2, "b"), (1, "a")]
    with pytest.raises(KeyError):
        hooks.move_to_end(4)


def test_copies_and_files_have_hooks_of_their_own() -> None:
    model = RevGEN(2, 2, hidden_channels=4, num_layers=2)
    assert all(isinstance(module._forward_hooks, Hooks) for module in model.layers[0].modules())
    x, edges = torch.ones(3, 2), torch.tensor([[0, 1], [1, 2]])
    seen: list[str] = []
    for made in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        made.layers[0].register_forward_hook(lambda m, args, out: seen.append("copy"))
        assert made(x, edges).equal(model(x, edges))
        assert seen.pop() == "copy"
        assert not seen
