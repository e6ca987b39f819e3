"""What ``steps`` is for the other aggregations, for PowerMean_Agg; the equations are those of ``power_mean``.

Where p is learned, the slope dM/dp of a target with several segments of edges is put together from those of its parts
a, with n_a messages, sum S_a and mean M_a: as the slope is a relative entropy, divided by p^2, it is theirs, weighed by
their shares in S, and that between them. Nothing is subtracted, and no edge is seen again:

    dM/dp = sum_a S_a / S dM_a/dp + sum_a n_a / n (M_a - M)^2 psi(p (M_a - M))
"""

from numba import types
from numba.extending import intrinsic

from deepergcn.ops.kernels.cpu.affine.edges import BETA, INVERSE, SIGN, Edges
from deepergcn.ops.kernels.cpu.machine.lanes import LANES, LN2


@intrinsic
def power_mean_step(
    typing_context, x, near, constants, block, channel, floor, eps, index, start, count, done, state, kept, learned
):
    """Add edges to the sums of a target, which has ``done`` edges in them: the dominant message m* times sign, S, Q, M
    and dM/dp, with Q the sum of exp(p d) - 1.

    A larger dominant message rescales S and Q. ``kept`` has room for two numbers a message; ``learned`` asks for dM/dp.
    """

    def generate(context, builder, signature, arguments):
        c = Edges(context, builder, signature, arguments)
        done, kept, learned = arguments[10], c.pointer(12), arguments[13]
        sign, p, inverse = (c.constants[row] for row in (SIGN, BETA, INVERSE))
        first, state, rows, (before, s, q, m, k) = c.state(done, 11, float("-inf"), 0.0, 0.0, 0.0, 0.0)
        top, S, Q, K = (c.variable(value) for value in (before, c.all(0.0), c.all(0.0), k))

        def place(i, second):
            return builder.mul(builder.add(builder.mul(i, c.long(2)), c.long(second)), c.long(LANES))

        def log_of_mean(S, Q, number):
            """M = ln(mean exp(p d)) / p."""
            share = c.all(1.0) / number
            below_one = Q * share
            one_more = below_one + 1.0
            around_one = below_one.compare(">", -0.5)
            log = c.log_of_normal(one_more.where(around_one, S * share))
            kept_digits = below_one.where(one_more.compare("==", 1.0), log * (below_one / (one_more - 1.0)))  # log1p
            return kept_digits.where(around_one, log) * inverse

        def between(away):
            """(M_a - M)^2 psi(p (M_a - M))."""
            t = p * away
            return c.excess(away, t, c.exp2_pair(t * (1 / LN2))[0], inverse)

        for i, message in c.messages():
            top.set(c.larger(message * sign, top.get()))
            for part, log2 in enumerate(c.log2_parts(message)):
                c.store(log2, kept, place(i, part))
        dominant = top.get() * sign
        whole, rest = c.log2_parts(dominant)
        usual = (whole - whole).compare("==", 0.0)  # a dominant message of 0 or infinity makes M NaN, if it is the last
        whole, rest = whole.where(usual, 0.0), rest.where(usual, 0.0)
        with c.loop(c.count) as i:
            d = (c.load(kept, place(i, 0)) - whole) + (c.load(kept, place(i, 1)) - rest)
            power, less_one = c.exp2_pair(p * d)
            S.set(S.get() + power)
            Q.set(Q.get() + less_one)
            with builder.if_then(learned):
                c.store(d * LN2, kept, place(i, 0))
                c.store(power, kept, place(i, 1))
        number = c.spread_count(c.count)
        M = c.variable(log_of_mean(S.get(), Q.get(), number))
        with builder.if_then(learned):
            K.set(c.all(0.0))
            mean, ratio = M.get(), number / S.get()
            with c.loop(c.count) as i:
                away = c.load(kept, place(i, 0)) - mean
                K.set(K.get() + c.excess(away, p * away, c.load(kept, place(i, 1)) * ratio, inverse))
            K.set(K.get() / number)
        with builder.if_then(builder.not_(first)):
            earlier, below = c.log2_parts(before * sign)
            shift = (earlier - whole) + (below - rest)
            share, less_one = c.exp2_pair(p * shift)
            before_these = c.spread_count(done)
            own, own_mean, part = S.get(), M.get(), s * share
            S.set(own + part)
            Q.set(Q.get() + (q * share + before_these * less_one))
            M.set(log_of_mean(S.get(), Q.get(), number + before_these))
            with builder.if_then(learned):
                within = (own * K.get() + part * k) / S.get()
                apart = number * between(own_mean - M.get()) + before_these * between((m + shift * LN2) - M.get())
                K.set(within + apart / (number + before_these))
        M.set(M.get().where(usual, float("nan")))
        for variable, row in zip((top, S, Q, M, K), rows, strict=True):
            c.store(variable.get(), state, row)
        return context.get_dummy_value()

    given = (x, near, constants, block, channel, floor, eps, index, start, count, done, state, kept, learned)
    return types.void(*given), generate
