"""The definitions: every aggregation in plain PyTorch, edge by edge, obviously right and slow.

They are the truth that every fast path is tested against, values and gradients. All work channel by channel on the
messages of equation (4), m_vu = ReLU(h_u + h_e) + eps, of a vertex v and its in-neighbours u in N(v). A vertex without
in-neighbours gets 0. Every function takes

- ``x`` [sources, channels], an ``Adjacency``, and perhaps an edge term: ``Affine``, ``Table``, ``Dense`` or a tensor;
- ``y``, the degree scaling |N(v)|^y of the paper's appendix, 0 for none;
- ``eps``, the small constant of equation (4), or None to take h_u + h_e as the messages, without ReLU.

16-bit input is computed in float32, and the result has the type of ``x``.
"""

import torch
from torch import Tensor

from deepergcn.ops.adjacency import Adjacency
from deepergcn.ops.check import Parameter, check_inputs, check_parameter, check_types
from deepergcn.ops.edge import EdgeTerm
from deepergcn.ops.scaling import scale_by_degree

EPS = 1e-7
"""The paper's epsilon, which keeps every message positive."""


def messages(
    x: Tensor, adjacency: Adjacency, edge: EdgeTerm | Tensor | None = None, *, eps: float | None = EPS
) -> tuple[Tensor, Tensor]:
    """Equation (4): the message of every edge, [edges, channels], and the target of every edge, [edges]."""
    term = check_inputs(x, adjacency, edge, eps)
    source, target = adjacency.edge_index()
    if x.dtype in (torch.bfloat16, torch.float16):
        x = x.float()
    h = x[source] if term is None else x[source] + term.materialize()
    return (h if eps is None else h.relu() + eps), target


def sum(
    x: Tensor,
    adjacency: Adjacency,
    edge: EdgeTerm | Tensor | None = None,
    *,
    y: Parameter = 0.0,
    eps: float | None = EPS,
) -> Tensor:
    """sum_u m_vu."""
    m, target = messages(x, adjacency, edge, eps=eps)
    return scale_by_degree(_add(m, target, adjacency.num_targets), adjacency, y).to(x.dtype)


def mean(
    x: Tensor,
    adjacency: Adjacency,
    edge: EdgeTerm | Tensor | None = None,
    *,
    y: Parameter = 0.0,
    eps: float | None = EPS,
) -> Tensor:
    """1/|N(v)| sum_u m_vu."""
    m, target = messages(x, adjacency, edge, eps=eps)
    return scale_by_degree(_mean(m, target, adjacency), adjacency, y).to(x.dtype)


def max(
    x: Tensor,
    adjacency: Adjacency,
    edge: EdgeTerm | Tensor | None = None,
    *,
    y: Parameter = 0.0,
    eps: float | None = EPS,
) -> Tensor:
    """max_u m_vu; messages that tie for it share the gradient evenly, as in the limit of softmax."""
    m, target = messages(x, adjacency, edge, eps=eps)
    return scale_by_degree(_extremum(m, target, adjacency.num_targets, "amax"), adjacency, y).to(x.dtype)


def min(
    x: Tensor,
    adjacency: Adjacency,
    edge: EdgeTerm | Tensor | None = None,
    *,
    y: Parameter = 0.0,
    eps: float | None = EPS,
) -> Tensor:
    """min_u m_vu; messages that tie for it share the gradient evenly."""
    m, target = messages(x, adjacency, edge, eps=eps)
    return scale_by_degree(_extremum(m, target, adjacency.num_targets, "amin"), adjacency, y).to(x.dtype)


def softmax(
    x: Tensor,
    adjacency: Adjacency,
    edge: EdgeTerm | Tensor | None = None,
    *,
    beta: Parameter = 1.0,
    y: Parameter = 0.0,
    semi_gradient: bool = False,
    eps: float | None = EPS,
) -> Tensor:
    """SoftMax_Agg_beta: sum_u w_vu m_vu with w_vu = exp(beta m_vu) / sum_i exp(beta m_vi).

    Exponents are ``beta (m - m*)`` with ``m*`` the vertex's own largest message (smallest for beta < 0), so that none
    is above 0 and the difference is taken before the product can lose its digits. ``semi_gradient`` treats the weights
    as constants.
    """
    check_types(x, adjacency)
    check_parameter("beta", beta, x.shape[-1], x.device)
    m, target = messages(x, adjacency, edge, eps=eps)
    beta = beta.to(m) if isinstance(beta, Tensor) else m.new_full((), beta)
    dominant = _dominant(m, target, adjacency.num_targets, beta)
    weight = torch.exp(beta * (m - dominant[target]))
    weight = weight / _add(weight, target, adjacency.num_targets)[target]
    if semi_gradient:
        weight = weight.detach()
    return scale_by_degree(_add(weight * m, target, adjacency.num_targets), adjacency, y).to(x.dtype)


def power_mean(
    x: Tensor,
    adjacency: Adjacency,
    edge: EdgeTerm | Tensor | None = None,
    *,
    p: Parameter = 1.0,
    y: Parameter = 0.0,
    eps: float | None = EPS,
) -> Tensor:
    """PowerMean_Agg_p: (1/|N(v)| sum_u m_vu^p)^(1/p), through logarithms; the geometric mean at p = 0.

    With ``m*`` the vertex's own largest message (smallest for p < 0) and ``d_u = ln(m_vu / m*)``, it is
    ``m* exp(M_p(d))``, ``M_p(d) = ln(mean_u exp(p d_u)) / p``. Messages must be positive, as equation (4) makes them.
    """
    check_types(x, adjacency)
    check_parameter("p", p, x.shape[-1], x.device)
    m, target = messages(x, adjacency, edge, eps=eps)
    p = p.to(m) if isinstance(p, Tensor) else m.new_full((), p)
    dominant = _dominant(m, target, adjacency.num_targets, p)
    d = torch.log(m / dominant[target])
    out = dominant * torch.exp(_log_mean_exp(d, p, target, adjacency))
    return scale_by_degree(out, adjacency, y).to(x.dtype)


def _log_mean_exp(d: Tensor, p: Tensor, target: Tensor, adjacency: Adjacency) -> Tensor:
    """M_p(d) = ln(mean exp(p d)) / p, exact for every p: a series where |p d| is small, logarithms elsewhere.

    The series is that of the cumulants, k1 + p k2/2 + p^2 k3/6 + p^3 k4/24. Elsewhere log1p keeps the digits of a mean
    near 1, and log those of a mean near 0. Each branch sees only the values it is made for, so that no gradient is NaN.
    """
    extent = _extremum(d.detach().abs(), target, adjacency.num_targets, "amax")
    small = (p.detach().abs() * extent) < (3e-4 if d.dtype == torch.float64 else 0.02)

    k1 = _mean(d, target, adjacency)
    centred = d - k1[target]
    k2, k3, k4 = (_mean(centred**k, target, adjacency) for k in (2, 3, 4))
    near = torch.where(small, p, 0.0)
    series = k1 + near * (k2 / 2 + near * (k3 / 6 + near * (k4 - 3 * k2**2) / 24))

    far = torch.where(small, 1.0, p)
    t = far[target] * torch.where(small[target], 0.0, d)
    below_one = _mean(_exp_less_one(t), target, adjacency)
    around_one = below_one > -0.5
    log_of_mean = torch.where(
        around_one,
        torch.log1p(torch.where(around_one, below_one, 0.0)),
        torch.log(torch.where(around_one, 1.0, _mean(torch.exp(t), target, adjacency))),
    )
    return torch.where(small, series, log_of_mean / far)


def _exp_less_one(t: Tensor) -> Tensor:
    """exp(t) - 1; torch's expm1 alone loses the digits of a small exp(t) in backward, where it adds the 1 again."""
    small = t.detach().abs() < 0.5
    return torch.where(small, torch.expm1(torch.where(small, t, 0.0)), torch.exp(t) - 1)


def _dominant(m: Tensor, target: Tensor, count: int, sign: Tensor) -> Tensor:
    """Each vertex's largest message where ``sign`` >= 0, its smallest elsewhere: a constant for autograd."""
    m = m.detach()
    return torch.where(sign >= 0, _extremum(m, target, count, "amax"), _extremum(m, target, count, "amin"))


def _add(values: Tensor, target: Tensor, count: int) -> Tensor:
    return values.new_zeros(count, values.shape[1]).index_add(0, target, values)


def _mean(values: Tensor, target: Tensor, adjacency: Adjacency) -> Tensor:
    degree = adjacency.degree(values.dtype).clamp(min=1)
    return _add(values, target, adjacency.num_targets) / degree[:, None]


def _extremum(values: Tensor, target: Tensor, count: int, reduce: str) -> Tensor:
    where = target[:, None].expand_as(values)
    # What a vertex with neighbours starts from takes part in a tie, as far as autograd knows; NaN equals nothing.
    met = _add(torch.ones_like(values), target, count)
    start = torch.where(met > 0, torch.nan, met)
    return start.scatter_reduce(0, where, values, reduce, include_self=False)
