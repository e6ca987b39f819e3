"""Speed up a model of PyTorch Geometric in place, train it, and turn it back.

The ``state_dict`` and the results stay the same; what is not exactly as PyTorch
Geometric defines it is left alone.

It prints::

    4 modules on the fast path, 0 left to PyG
    same outputs: True
    same state_dict: True
    loss fell: True
    PyG's own class again: True
"""

import torch
import torch_geometric.nn as pyg

import deepergcn

if __name__ == "__main__":
    torch.manual_seed(0)
    x, edge_index = torch.randn(500, 16), torch.randint(500, (2, 8000))
    labels = (x[:, 0] > 0).long()
    layers = [
        (pyg.GENConv(16, 32, aggr="softmax", learn_t=True), "x, edge_index -> x"),
        torch.nn.ReLU(),
        (pyg.GENConv(32, 2, aggr="powermean", learn_p=True), "x, edge_index -> x"),
    ]
    model = pyg.Sequential("x, edge_index", layers)
    before, names = model(x, edge_index), list(model.state_dict())

    model = deepergcn.accelerate(model)
    print(str(deepergcn.accelerated(model)).splitlines()[0])
    print(f"same outputs: {torch.allclose(model(x, edge_index), before, atol=1e-4)}")
    print(f"same state_dict: {list(model.state_dict()) == names}")

    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    losses = []
    for _ in range(20):
        loss = torch.nn.functional.cross_entropy(model(x, edge_index), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print(f"loss fell: {losses[-1] < losses[0]}")

    model = deepergcn.deaccelerate(model)
    print(f"PyG's own class again: {type(model[0]) is pyg.GENConv}")
