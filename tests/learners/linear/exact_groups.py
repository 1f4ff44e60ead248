"""How far the weights after a group are from the least of its problem, in numbers of 70 digits.

Nothing here is shared with the package. The least itself need not be known: any feasible point of the dual problem is a
lower bound on it, and one that is nearly tight follows from the weights that are judged.
"""

from __future__ import annotations

from decimal import Decimal, localcontext

NEAR = Decimal("1e-7")  # rows this close to their margin may have any coefficient


def dot(a, b):
    return sum((p * r for p, r in zip(a, b, strict=True)), Decimal(0))


def solved(A, b):
    """A⁻¹b by elimination."""
    n = len(b)
    A = [[*row, v] for row, v in zip(A, b, strict=True)]
    for p in range(n):
        q = max(range(p, n), key=lambda i, p=p: abs(A[i][p]))
        A[p], A[q] = A[q], A[p]
        for i in range(p + 1, n):
            factor = A[i][p] / A[p][p]
            A[i] = [v - factor * u for v, u in zip(A[i], A[p], strict=True)]
    x = [Decimal(0)] * n
    for p in reversed(range(n)):
        x[p] = (A[p][n] - dot(A[p][p + 1 : n], x[p + 1 :])) / A[p][p]
    return x


def excess(before, after, rows, targets, weights, *, step, C, epsilon=None):
    """How much the objective of ``after`` is above its least, and the objective of ``before``.

    ``targets`` are numbers, or ±1 where ``epsilon`` is None. ``rows`` have their constant 1.
    """
    with localcontext() as context:
        context.prec = 70
        rows = [[Decimal(float(v)) for v in row] for row in rows]
        before, after, targets = ([Decimal(float(v)) for v in vector] for vector in (before, after, targets))
        caps = [Decimal(float(C)) * Decimal(float(s)) for s in weights]
        eps = Decimal(0) if epsilon is None else Decimal(float(epsilon))

        def losses(w):
            residuals = [y - dot(x, w) for x, y in zip(rows, targets, strict=True)]
            if step == "ls":
                return residuals
            if epsilon is None:
                return [1 - y * dot(x, w) for x, y in zip(rows, targets, strict=True)]
            return [abs(r) - eps for r in residuals]

        def objective(w):
            found = losses(w) if step == "ls" else [max(Decimal(0), v) for v in losses(w)]
            cost = found if step == "pa1" else [v * v for v in found]
            return sum((p - q) ** 2 for p, q in zip(w, before, strict=True)) / 2 + dot(caps, cost)

        n = len(rows)
        G = [[dot(a, b) for b in rows] for a in rows]
        r = [y - dot(x, before) for x, y in zip(rows, targets, strict=True)]
        left = losses(after)
        signs = [
            y if epsilon is None else Decimal(1 if y > dot(x, after) else -1)
            for x, y in zip(rows, targets, strict=True)
        ]
        beta = [Decimal(0)] * n
        free = []
        for k in range(n):
            if step == "ls" or (step == "pa2" and left[k] > 0) or (step == "pa1" and abs(left[k]) <= NEAR):
                free.append(k)
            elif step == "pa1" and left[k] > NEAR:
                beta[k] = signs[k] * caps[k]
        ridge = [Decimal(0) if step == "pa1" else 1 / (2 * cap) for cap in caps]
        aim = [r[k] - (0 if step == "ls" else eps * signs[k]) - dot(G[k], beta) for k in range(n)]
        H = [[G[i][j] + (ridge[i] if i == j else 0) for j in free] for i in free]
        for k, v in zip(free, solved(H, [aim[k] for k in free]), strict=True):
            beta[k] = max(-caps[k], min(caps[k], v)) if step == "pa1" else v
            if step != "ls" and epsilon is None:
                beta[k] = signs[k] * max(Decimal(0), signs[k] * beta[k])
        bound = dot(beta, r) - dot(beta, [dot(row, beta) for row in G]) / 2 - dot(ridge, [b * b for b in beta]) / 2
        if step != "ls":
            bound -= eps * sum(map(abs, beta))
        return float(objective(after) - max(bound, Decimal(0))), float(objective(before))
