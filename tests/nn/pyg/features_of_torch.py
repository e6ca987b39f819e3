"""Rows of the table: what PyTorch does with a model."""

import copy
import io
import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import onnxruntime
import torch
from torch import Tensor, nn
from torch._C._distributed_c10d import HashStore
from torch.autograd import forward_ad
from torch.export import Dim, export
from torch.overrides import TorchFunctionMode
from torch.testing import assert_close
from torch.utils.checkpoint import checkpoint
from torch.utils.flop_counter import FlopCounterMode

import deepergcn
from tests.nn.pyg.features import PYGS_WAY, agree, feature, gradients, graph, pair
from tests.nn.pyg.models import EDGES, features

DYNAMIC: Any = {"x": {0: Dim("nodes")}, "edge_index": {1: Dim("edges")}, "edge_attr": {0: Dim("edges")}}


def square(model: Any) -> Tensor:
    out: Tensor = model(*graph()).pow(2).sum()
    return out


@feature("gradients", "first derivatives of features and parameters")
def _() -> None:
    theirs, fast = pair(learn_t=True)
    assert_close(gradients(fast, square), gradients(theirs, square))


@feature("gradients", "features changed in place, as in `x += conv(x, edge_index)`")
def _() -> None:
    found = []
    for model in pair(learn_t=True):
        x, edge_index, edge_attr = graph()
        h = 2 * x
        h += model(h, edge_index, edge_attr)
        found.append(torch.autograd.grad(h.square().sum(), list(model.parameters())))
    assert_close(found[1], found[0])


@feature("gradients", "features computed in inference mode")
def _() -> None:
    with torch.inference_mode():
        x = graph()[0]
    theirs, fast = pair(learn_t=True)
    expected, found = (gradients(model, lambda m: m(x, *graph()[1:]).square().sum()) for model in (theirs, fast))
    assert_close(found, expected)


@feature("gradients", "second derivatives, as for forces and gradient penalties")
def _() -> None:
    found = []
    for model in pair(learn_t=True):
        x = features(8).requires_grad_()
        (first,) = torch.autograd.grad(model(x, EDGES).pow(2).sum(), x, create_graph=True)
        found.append(torch.autograd.grad(first.pow(2).sum(), x)[0])
    assert_close(found[1], found[0])


@feature("gradients", "`torch.func`: `grad`, `vmap`, `jacrev`, `jacfwd`, `functional_call`", PYGS_WAY)
def _() -> None:
    found = []
    for model in pair(learn_t=True):

        def loss(parameters: Any, x: Tensor, model: Any = model) -> Tensor:
            out: Tensor = torch.func.functional_call(model, parameters, (x, EDGES)).pow(2).sum()
            return out

        parameters = dict(model.named_parameters())
        x = features(8)
        found.append(
            (
                torch.func.grad(loss)(parameters, x),
                torch.func.vmap(loss, in_dims=(None, 0))(parameters, torch.stack([x, -x])),
                torch.func.jacrev(loss, 1)(parameters, x),
                torch.func.jacfwd(loss, 1)(parameters, x),
            )
        )
    assert_close(found[1], found[0])


@feature("gradients", "forward-mode differentiation", PYGS_WAY)
def _() -> None:
    found = []
    for model in pair():
        with forward_ad.dual_level():
            out = model(forward_ad.make_dual(features(8), torch.ones(7, 8).double()), EDGES)
            found.append(forward_ad.unpack_dual(out).tangent)
    assert_close(found[1], found[0])


@feature("gradients", "`torch.utils.checkpoint`, reentrant or not")
def _() -> None:
    theirs, fast = pair(learn_t=True)
    for reentrant in (True, False):

        def again(model: Any, reentrant: bool = reentrant) -> Tensor:
            x, edge_index, edge_attr = graph()
            x.requires_grad_()
            out: Tensor = checkpoint(model, x, edge_index, edge_attr, use_reentrant=reentrant).pow(2).sum()
            return out

        grads = []
        for model in (theirs, fast):
            model.zero_grad()
            again(model).backward()
            grads.append([p.grad for p in model.parameters() if p.grad is not None])
        assert_close(grads[1], grads[0])


@feature("programs", "`torch.compile(fullgraph=True, dynamic=True)`")
def _() -> None:
    theirs, fast = pair(learn_t=True)
    compiled = torch.compile(fast, fullgraph=True, dynamic=True, backend="aot_eager")
    for nodes, edges in ((7, 10), (9, 20)):
        agree((theirs, compiled), *graph(nodes, edges))


@feature("programs", "`torch.compile` of a power mean with `learn_p`", PYGS_WAY)
def _() -> None:
    theirs, fast = pair(aggr="powermean", p=2.0, learn_p=True)
    agree((theirs, torch.compile(fast, fullgraph=True, dynamic=True, backend="aot_eager")), *graph())


@feature("programs", "`torch.export`, strict or not, for any number of nodes and edges", PYGS_WAY)
def _() -> None:
    theirs, fast = pair(learn_t=True)
    for strict in (True, False):
        program = export(fast, graph(), dynamic_shapes=DYNAMIC, strict=strict)
        agree((theirs, program.module()), *graph(9, 20))
        assert "deepergcn" not in str(program.graph)


@feature("programs", "`torch.onnx.export`, run by onnxruntime", PYGS_WAY)
def _() -> None:
    theirs, fast = (model.float().eval() for model in pair(learn_t=True))
    arguments = tuple(t.float() if t.is_floating_point() else t for t in graph())
    program = torch.onnx.export(fast, arguments, dynamic_shapes=DYNAMIC, dynamo=True, verbose=False)
    assert program is not None
    session = onnxruntime.InferenceSession(program.model_proto.SerializeToString())
    others = [t.float() if t.is_floating_point() else t for t in graph(9, 20)]
    names = [node.name for node in session.get_inputs()]
    (out,) = session.run(None, {name: t.numpy() for name, t in zip(names, others, strict=True)})
    np.testing.assert_allclose(out, theirs(*others).detach().numpy(), rtol=1e-4, atol=1e-5)


@feature("programs", "TorchScript: `torch.jit.script` and `torch.jit.trace`", PYGS_WAY)
def _() -> None:
    theirs, fast = pair(learn_t=True)
    agree((theirs, torch.jit.script(fast)), *graph(9, 20))
    agree((theirs, torch.jit.trace(fast, graph())), *graph(9, 20))


@feature("programs", "dispatch modes, such as `FlopCounterMode`", PYGS_WAY)
def _() -> None:
    counts = []
    for model in pair():
        with FlopCounterMode(display=False) as counter:
            model(*graph())
        counts.append(counter.get_total_flops())
    assert counts[1] == counts[0] > 0


@feature("programs", "modes of functions, such as a `TorchFunctionMode` of your own", PYGS_WAY)
def _() -> None:
    class Louder(TorchFunctionMode):
        def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            out = function(*args, **(kwargs or {}))
            return 2 * out if function is Tensor.relu else out

    with Louder():
        agree(pair(), *graph())


@feature("precision", "`model.half()`, `model.bfloat16()`")
def _() -> None:
    for dtype in (torch.float16, torch.bfloat16):
        theirs, fast = (model.to(dtype) for model in pair(learn_t=True))
        arguments = [t.to(dtype) if t.is_floating_point() else t for t in graph()]
        assert fast(*arguments).dtype == dtype
        assert_close(fast(*arguments), theirs(*arguments), atol=0.05, rtol=0.05)


@feature("precision", "`torch.autocast`")
def _() -> None:
    theirs, fast = (model.float() for model in pair(learn_t=True))
    arguments = [t.float() if t.is_floating_point() else t for t in graph()]
    with torch.autocast("cpu", torch.bfloat16):
        expected, found = theirs(*arguments), fast(*arguments)
    assert found.dtype == expected.dtype
    assert_close(found, expected, atol=0.05, rtol=0.05)


@feature("precision", "node and edge features of different precision", PYGS_WAY)
def _() -> None:
    theirs, fast = pair(edge_dim=None)
    agree((theirs, fast), features(8), EDGES, features(8, rows=10).float())


@feature("running", "`torch.no_grad`, `torch.inference_mode`")
def _() -> None:
    for mode in (torch.no_grad, torch.inference_mode):
        with mode():
            agree(pair(), *(t.clone() for t in graph()))


@feature("running", "`torch.use_deterministic_algorithms`")
def _() -> None:
    torch.use_deterministic_algorithms(True)
    try:
        agree(pair(), *graph())
    finally:
        torch.use_deterministic_algorithms(False)


@feature("running", "several threads that share a model and a graph")
def _() -> None:
    theirs, fast = pair()
    fast.eval()
    arguments = graph(40, 300)
    expected = theirs.eval()(*arguments)
    with ThreadPoolExecutor(4) as pool:
        for out in pool.map(lambda _: fast(*arguments), range(16)):
            assert_close(out, expected)


@feature("running", "the device `meta`", PYGS_WAY)
def _() -> None:
    _, fast = pair()
    fast = fast.to("meta")
    assert fast(*(t.to("meta") for t in graph())).shape == (7, 8)
    assert deepergcn.accelerated(fast).left["GENConv"] == "on meta PyG's own code runs"


@feature("running", "`DataParallel` and other replicas")
def _() -> None:
    theirs, fast = pair(learn_t=True)
    agree((theirs, nn.DataParallel(fast)), *graph())
    agree((theirs, fast._replicate_for_data_parallel()), *graph())


def _compare_distributed(theirs: nn.Module, fast: nn.Module) -> None:
    """In a function of its own: a wrapper that outlives its group may wait for gloo's thread, and that for Python."""
    wrapped = nn.parallel.DistributedDataParallel(fast)
    agree((theirs, wrapped), *graph())
    square(wrapped).backward()


@feature("running", "`DistributedDataParallel`")
def _() -> None:
    theirs, fast = pair(learn_t=True)
    torch.distributed.init_process_group("gloo", store=HashStore(), rank=0, world_size=1)
    try:
        _compare_distributed(theirs, fast)
    finally:
        torch.distributed.destroy_process_group()
    square(theirs).backward()
    assert_close([p.grad for p in fast.parameters()], [p.grad for p in theirs.parameters()])


@feature("saving", "`state_dict`, saved before or after")
def _() -> None:
    theirs, fast = pair(learn_t=True)
    assert list(theirs.state_dict()) == list(fast.state_dict())
    theirs.load_state_dict(fast.state_dict())
    fast.load_state_dict(theirs.state_dict())


@feature("saving", "`copy.deepcopy`, `AveragedModel`: the copy is accelerated too")
def _() -> None:
    theirs, fast = pair()
    averaged = torch.optim.swa_utils.AveragedModel(fast)
    assert len(deepergcn.accelerated(averaged).fast) == 2
    agree((theirs, averaged), *graph())
    agree((theirs, copy.deepcopy(fast)), *graph())


@feature("saving", "`pickle`, `torch.save(model)`: what you load is PyG's own class")
def _() -> None:
    theirs, fast = pair()
    buffer = io.BytesIO()
    torch.save(fast, buffer)
    buffer.seek(0)
    for loaded in (pickle.loads(pickle.dumps(fast)), torch.load(buffer, weights_only=False)):
        assert type(loaded) is type(theirs)
        agree((theirs, loaded), *graph())


@feature("saving", "`deepergcn.deaccelerate`, which restores PyG's own classes")
def _() -> None:
    theirs, fast = pair()
    assert deepergcn.deaccelerate(fast) is fast
    assert type(fast) is type(theirs)
    assert vars(fast).keys() == vars(theirs).keys()
    agree((theirs, fast), *graph())
