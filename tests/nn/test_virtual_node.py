"""The virtual node: what its vertices hear of it has one gradient, whatever computes it."""

import torch

from deepergcn.nn.virtual_node import VirtualNode


def test_its_gradient_has_the_same_bits_for_any_number_of_threads() -> None:
    generator = torch.Generator().manual_seed(0)
    batch = torch.randint(31, (4000,), generator=generator).sort().values
    weight = torch.randn(4000, 64, generator=generator)
    v = torch.randn(31, 64, generator=generator, requires_grad=True)
    node = VirtualNode(64, 2, None, 0.0)
    found = []
    threads = torch.get_num_threads()
    try:
        for count in (1, 2, 3):
            torch.set_num_threads(count)
            found.append(torch.autograd.grad((node.to_vertices(v, batch) * weight).sum(), v)[0])
    finally:
        torch.set_num_threads(threads)
    assert torch.equal(found[0], found[1])
    assert torch.equal(found[0], found[2])
