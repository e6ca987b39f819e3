"""One graph in memory as two tables."""

from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import torch
from torch_geometric.data import Data

from deepergcn.data.memory.graph import Names, graph_tables, is_graph
from deepergcn.errors import InputError

PATH = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])


def test_an_undirected_graph_of_pyg_has_each_edge_once() -> None:
    data = Data(x=torch.eye(3)[:, :2], edge_index=PATH, edge_attr=torch.tensor([5.0, 5.0, 6.0, 6.0]), y=torch.arange(3))
    found = graph_tables(data)
    assert found.nodes.to_pydict() == {"id": [0, 1, 2], "x_0": [1, 0, 0], "x_1": [0, 1, 0], "y": [0, 1, 2]}
    assert found.edges.to_pydict() == {"source": [0, 1], "target": [1, 2], "edge_attr": [5.0, 6.0]}
    assert (found.directed, found.labels, found.numbered) == (False, ("y",), True)


def test_a_directed_graph_of_pyg_stays_so_and_masks_are_columns() -> None:
    data = Data(x=torch.ones(3, 1), edge_index=PATH[:, [0, 2]], train_mask=torch.tensor([True, False, False]))
    found = graph_tables(data, torch.tensor([0.5, 1.5, 2.5]))
    assert found.directed
    assert found.edges.to_pydict() == {"source": [0, 1], "target": [1, 2]}
    assert found.nodes.column("train_mask").to_pylist() == [True, False, False]
    assert found.nodes.column("label").to_pylist() == [0.5, 1.5, 2.5]
    assert (found.labels, found.numbered) == (("label",), False)


def test_integers_beside_a_graph_of_pyg_number_classes() -> None:
    data = Data(x=torch.ones(3, 1), edge_index=PATH)
    assert graph_tables(data, torch.tensor([2, 0, 1])).numbered
    assert not graph_tables(data, np.array(["a", "b", "c"])).numbered


def test_attributes_of_networkx_are_columns_and_lists_several() -> None:
    graph = nx.DiGraph()
    graph.add_node("u", size=1.5, place=[1, 2], id="own")
    graph.add_node(7, size=2.5)
    graph.add_edge("u", 7, weight=3)
    found = graph_tables(graph, "size")
    assert found.nodes.to_pydict() == {
        "id": ["u", "7"],
        "size": [1.5, 2.5],
        "place_0": [1, None],
        "place_1": [2, None],
        "id (attribute)": ["own", None],
    }
    assert found.edges.to_pydict() == {"source": ["u"], "target": ["7"], "weight": [3]}
    assert (found.directed, found.labels) == (True, ("size",))
    assert graph_tables(nx.path_graph(2), {0: "a"}).nodes.to_pydict() == {"id": ["0", "1"], "label": ["a", None]}
    assert graph_tables(nx.path_graph(2)).directed is False


def test_frames_have_ids_in_their_index_where_no_column_has() -> None:
    nodes, edges = pd.DataFrame({"a": [1, 2]}, index=["u", "v"]), pd.DataFrame({"from": ["u"], "to": ["v"]})
    found = graph_tables((nodes, edges), "a", Names("key", "from", "to"))
    assert found.nodes.to_pydict() == {"key": ["u", "v"], "a": [1, 2]}
    assert found.directed is None
    assert is_graph((nodes, edges))
    assert not is_graph((nodes, edges, nodes))


@pytest.mark.parametrize(
    ("graph", "label", "problem"),
    [
        (Data(x=torch.ones(3, 1)), None, r"graph: has no edge_index; expected edge_index, a tensor \[2, edges\]"),
        (Data(edge_index=PATH.t()[:3], num_nodes=3), None, r"graph: edge_index has shape \[3, 2\]; expected"),
        (Data(edge_index=PATH, num_nodes=3, edge_attr=torch.ones(1)), (), r"edge_attr has shape \[1\]; expected"),
        (Data(edge_index=PATH, num_nodes=3, train_idx=torch.arange(2)), (), "graph: has train_idx, but no masks"),
        (
            (pd.DataFrame({"id": [0, 1]}), pd.DataFrame({"source": [0], "target": [1]})),
            pd.Series(["a", "b"], index=[1, 0]),
            "label: has the same index as the data in another order",
        ),
        (Data(edge_index=PATH, num_nodes=2), None, "graph: edge_index has nodes 0 to 2; expected 0 to 1"),
        (Data(edge_index=PATH, x=torch.ones(3, 1)), "y", "graph: y is missing; expected a tensor with 3 rows"),
        (Data(edge_index=PATH, x=torch.ones(3, 1), y=torch.ones(2)), None, r"graph: y has shape \[2\]"),
        (Data(edge_index=PATH, x=torch.tensor([[1.0], [torch.nan], [2.0]])), None, "graph: x is NaN in row 1"),
        (Data(edge_index=PATH, x=torch.ones(3, 1), train_mask=torch.ones(3, 2) > 0), (), "train_mask has several"),
        (nx.Graph(), None, "graph: has no nodes"),
        (nx.path_graph(2), {5: "a"}, "label: '5' is not the id of a node"),
        (nx.path_graph(2), np.zeros(3), "label: column 'label' has 3 values; expected 2"),
        ([1, 2], None, "graph: is of type list; expected Data of PyTorch Geometric, a graph of networkx"),
    ],
)
def test_what_is_refused(graph: Any, label: Any, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        graph_tables(graph, label)
