"""Kernel learners: the mean of the functions of all, which is a sum over the support vectors of all.

With f_i = Σ_x α_ix k̃(x, ·) and the weights ω of the partitions,

    Σ ω_i f_i / Σ ω_i = Σ_x (Σ_i ω_i α_ix / Σ ω_i) k̃(x, ·)        over the rows x of all support sets,

so a row has the mean of its coefficients, 0 where a partition does not have it. Rows that are the same to the byte are
one (``mixing.rows``), those of the common start above all. Where there is a budget, what is too much is then let go of
(``mixing.budget``).

**Means of the iterates** are pooled as in ``mixing.linear``: every iterate counts with the weight that it had, and
those of the common start once. With a budget a partition forgets what the start knew, so that this could not be counted
once: there the means are averaged by the weights of the partitions.

**γ.** A sum over support vectors is a function of one γ. One that the stream settles must have been settled in the
common start. Of several γ side by side, each is mixed with its like. Mistakes and losses are summed, and the one with
the fewest predicts. A member that has left a partition is there as it was in the common start; those that are left in
the most partitions, which are all of them as a rule, stay.

**Scaled rows.** Support vectors stay as they were when they were learned, and new rows are scaled by what all
partitions have counted. Numbers to predict are m_i + s_i f_i in units of their own deviation s_i, which becomes

    m + s Σ ω_i (s_i/s) f_i / Σ ω_i

with the mean m and the deviation s of all. That Σ ω_i m_i / Σ ω_i is not m to the last digit is let go.

**Centres** of outlier detectors are such sums, too, and so are the means of centres. ‖c‖² and the like are summed up
anew. Rows of a mini-batch that wait were learned before; a sliding window begins anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from aggro.engine.kernel_functions import GIVEN_MATRIX, POLY_KERNEL, RBF_KERNEL, SIGMOID_KERNEL
from aggro.engine.limits import HUGE
from aggro.engine.rule import SEEN
from aggro.learners.kernel.budget import PROJECTION_RIDGE
from aggro.learners.kernel.centre import CC, CU, MEAN_NORM
from aggro.learners.kernel.mean import weight_of_rows
from aggro.learners.kernel.members import MUCH
from aggro.learners.kernel.methods import BOGD
from aggro.learners.kernel.support_set import (
    CLASSES_TASK,
    COUNT,
    HEAP,
    OUTLIER_TASK,
    PACK,
    ROW_NORM,
    ROW_WIDTH,
    SELF_KERNEL,
    Support,
    grow_support,
    members_of,
    resized,
    scaling_of,
    support_rows,
)
from aggro.learners.kernel.target import unit_and_mean
from aggro.mixing.budget import KERNEL_VALUES_AT_ONCE, Held, Space, brought_down, norms_of
from aggro.mixing.parts import Mix, Parts, Sight, Value, least, mean, most, pooled, total
from aggro.mixing.radius import put_radius, take_radius
from aggro.mixing.rows import grouped, keys_of, rows_of, spread_over
from aggro.mixing.scaling import put_scaling, take_scaling

RADII = ("radius", "mean_radius", "inner")  # of a centre
SETTLED_BEFORE = (
    "Models with gamma='auto' can be combined only if they began as one that had its γ. Let one model learn some rows "
    "(64 are enough), and begin with copies of it; or set gamma to a number."
)


class Table(NamedTuple):
    """The support vectors of a state: different rows, with numbers in units of raw targets."""

    keys: tuple[bytes, ...]
    last: np.ndarray  # (rows, problems, members): coefficients of the last iterates,
    means: np.ndarray  # and of their means
    born: np.ndarray
    own: np.ndarray  # k̃(x, x)


# Taken apart ------------------------------------------------------------------------------------------------------


def take(state: Support, params: Any, sight: Sight) -> Parts:
    check(state, params)
    table, gone = table_of(state, params, sight), left(state)
    weight = np.full(members_of(state), float(weight_of_rows(state)))
    suffered = np.array([state.losses, state.mistakes, state.apart])
    rows = np.full(gone.shape[0], float(state.tally.rows[SEEN]))
    # A member that has left stopped learning here; it counts as what the start knew, with the start's weight.
    if gone.any():  # as in the common start
        start = start_of(state, params, sight)
        table = as_in(table, None if start is None else table_of(start, params, sight), gone)
        weight[gone] = 0.0 if start is None else float(weight_of_rows(start))
        rows[gone] = 0.0 if start is None else float(start.tally.rows[SEEN])
        suffered[:, gone] = 0.0 if start is None else np.array([start.losses, start.mistakes, start.apart])[:, gone]
    # One problem for two classes has no axis of classes.
    axes = "rc." if table.last.shape[1] > 1 else "r.."
    parts = {
        "kernel.last": mean(table.last, axes, keys=table.keys),
        "kernel.born": least(table.born, "r", keys=table.keys),
        # Most and least agree only if all have the same γ.
        "kernel.gamma": most(state.gamma, "."),
        "kernel.least_gamma": least(np.where(state.gamma > 0.0, state.gamma, np.inf), "."),
    }
    # k̃(x, x) of a user's function cannot be computed here, so it is kept with the row.
    if params.kind == GIVEN_MATRIX:
        parts["kernel.own"] = most(table.own, "r", keys=table.keys)
    # With a budget the start's rows may be gone, so the start cannot be taken off once: a mean, not pooled.
    if params.average and params.budget:
        parts["kernel.means"] = mean(table.means, axes, keys=table.keys)
    elif params.average:
        parts["kernel.means"] = pooled(table.means, axes, weight[None, None, :], table.keys)
    if state.losses.shape[0]:
        parts |= {
            "kernel.stays": total(1.0 - gone, "."),
            # A member that has left holds HUGE as a mark; sums need a number.
            "kernel.suffered": total(np.where(suffered < HUGE, suffered, MUCH), ".."),
            "kernel.rows": total(rows, "."),
        }
    parts |= {"kernel.recent": mean(state.recent, "."), "kernel.ledger": total(state.ledger, ".")}
    if state.facts.shape[0]:
        parts |= take_scaling(scaling_of(state), sight)
    for name in RADII:
        parts |= take_radius(f"kernel.{name}", getattr(state, name))
    return parts


def check(state: Support, params: Any) -> None:
    """Refuse what cannot be combined."""
    if not params.keeps:
        raise ValueError(
            "Models with kernel='precomputed' cannot be combined: they keep numbers of columns, which mean something "
            "else in every matrix. Give the rows, and the kernel as a function of two matrices."
        )
    # Those need kernel values between rows of different partitions, and the function is not at hand.
    if params.kind == GIVEN_MATRIX and (state.inverse.shape[0] or params.task == OUTLIER_TASK):
        raise ValueError(
            "Models with a kernel function of your own can be combined only if nothing needs its values between "
            "support "
            "vectors, as outlier detectors and projecting budgets do. Choose a kernel by name, or another policy."
        )
    if state.losses.shape[0] != (params.members.shape[1] if params.members.shape[1] > 1 else 0):
        raise ValueError("These models are of a version that had one γ for gamma='auto'. Set gamma to that number.")


def left(state: Support) -> np.ndarray:
    """Which members have left."""
    return np.asarray(state.mistakes >= HUGE) if state.losses.shape[0] else np.zeros(1, bool)


def start_of(state: Support, params: Any, sight: Sight) -> Support | None:
    """The common start, with as many problems as the state."""
    start: Support | None = sight.base
    if start is not None and start.coef.shape[1] != state.coef.shape[1]:
        start = grow_support(start, params, int(start.marks[ROW_WIDTH]), state.tally.classes.shape[0])
    return start


def table_of(state: Support, params: Any, sight: Sight) -> Table:
    """The support vectors."""
    last = by_row(state, state.coef)
    means, rows = last, float(weight_of_rows(state))
    if params.average and rows:
        # The lag over the weight of all rows: w̄ = w − late/rows.
        means = last - by_row(state, state.late) / rows
    if params.task == CLASSES_TASK and sight.n_classes <= 2:
        # of problems that mirror each other, that of the second class
        # Two mirrored problems are one function; a state with one column already has only that.
        sign = -1.0 if sight.flipped else 1.0
        last, means = (sign * part[:, -1:] if part.shape[1] == 1 else sign * part[:, 1:2] for part in (last, means))
    # In units of raw targets, since each partition has a deviation of its own.
    unit, _ = unit_and_mean(state)
    last, means = last * unit, means * unit
    count = last.shape[0]
    # Rows whose coefficients are all 0 are no support vectors.
    used = np.flatnonzero(last.any(axis=(1, 2)) | means.any(axis=(1, 2)))
    keys, place = grouped(keys_of(support_rows(state, int(state.marks[ROW_WIDTH]))[used], sight))
    sums = np.zeros((len(keys), 2, *last.shape[1:]))
    # Rows that are the same to the byte are one: their coefficients add up.
    np.add.at(sums, place, np.stack([last[used], means[used]], axis=1))
    born, own = np.full(len(keys), np.inf), np.zeros(len(keys))
    # Its age is that of the first.
    np.minimum.at(born, place, state.born[:count][used].astype(np.float64))
    own[place] = state.norms[:, SELF_KERNEL].reshape(-1)[:count][used]
    return Table(keys, sums[:, 0], sums[:, 1], born, own)


def by_row(state: Support, packs: np.ndarray) -> np.ndarray:
    """Coefficients (rows, problems, members)."""
    count, members = int(state.marks[COUNT]), members_of(state)
    # Packs of rows are stored column by column, as the kernels read them.
    flat = np.ascontiguousarray(packs.transpose(0, 2, 1)).reshape(-1, packs.shape[1])[:count]
    return flat.reshape(count, packs.shape[1] // members, members)


def as_in(table: Table, start: Table | None, gone: np.ndarray) -> Table:
    """The table, with the members that are gone as they were at the start; nothing is there if there was none."""
    if start is None:
        return table
    # Rows that either has: the start may hold rows that were dropped since.
    keys = tuple(sorted({*table.keys, *start.keys}))
    found = [spread_over(table.keys, part, keys) for part in (table.last, table.means)]
    there = [spread_over(start.keys, part, keys) for part in (start.last, start.means)]
    for mine, theirs in zip(found, there, strict=True):
        mine[:, :, gone] = theirs[:, :, gone]
    born = np.minimum(*(spread_over(one.keys, one.born, keys, np.inf) for one in (table, start)))
    own = np.maximum(*(spread_over(one.keys, one.own, keys) for one in (table, start)))
    return Table(keys, found[0], found[1], born, own)


# And put together -------------------------------------------------------------------------------------------------


def put(state: Support, params: Any, values: Mapping[str, Value], sight: Sight) -> Support:
    if state.facts.shape[0]:
        put_scaling(scaling_of(state), values)
    # γ, and the member that predicts, come first: the space of the kernel is made of them.
    put_gamma(state, params, values, sight)
    stays = put_members(state, values)
    state.recent[:] = values["kernel.recent"].high
    state.recent[1:] = np.maximum(state.recent[1:], 0.0)
    state.ledger[:] = values["kernel.ledger"].high
    state.ledger[1:] = np.maximum(state.ledger[1:], 0.0)
    for name in RADII:
        put_radius(f"kernel.{name}", getattr(state, name), values)
    member = int(state.choice[0]) if state.choice.shape[0] else 0
    space = Space(params, float(params.gamma or state.gamma[0]), member)
    held = brought_down(held_by(state, params, values, space, stays), space, params)
    # BOGD bounds each coefficient, and the projection above may have gone beyond.
    if params.method == BOGD:
        bound = params.bound * params.eta
        held = held._replace(last=np.clip(held.last, -bound, bound))
    return filled(state, params, held, space)


def put_gamma(state: Support, params: Any, values: Mapping[str, Value], sight: Sight) -> None:
    """γ, on which all agree."""
    found, other = values["kernel.gamma"].high, values["kernel.least_gamma"].high
    if params.gamma == 0.0 and params.kind in (RBF_KERNEL, POLY_KERNEL, SIGMOID_KERNEL):
        # "auto" depends on the width, which all partitions together may have changed.
        if found[1] and max(sight.n_features, 1) != found[1]:
            raise ValueError(
                f"gamma='auto' is 1/n_features, and it was 1/{found[1]:.0f} in some models: all of them together have "
                f"{sight.n_features} features. Set gamma to a number, or reserve a width with n_features."
            )
        # Different γ: the functions live in different spaces and have no common sum.
        if (np.isfinite(other) & (other != found)).any():
            raise ValueError(SETTLED_BEFORE)
    state.gamma[:] = found


def put_members(state: Support, values: Mapping[str, Value]) -> np.ndarray:
    """What several γ have suffered, and the one that predicts; which of them stay."""
    if not state.losses.shape[0]:
        return np.ones(1, bool)
    among = values["kernel.stays"].high
    # Those that are left in the most partitions: as a rule, all of them.
    stays = np.asarray(among == among.max())
    rows = values["kernel.rows"].high
    # Losses of a member that left somewhere are of fewer rows, and are scaled up to be comparable.
    share = np.where(rows > 0.0, rows.max() / np.where(rows > 0.0, rows, 1.0), 1.0)  # 1 if it has left nowhere
    losses, mistakes, apart = np.clip(values["kernel.suffered"].high * share, 0.0, MUCH)
    state.losses[:], state.apart[:] = losses, apart
    state.mistakes[:] = np.where(stays, mistakes, HUGE)
    # Fewest mistakes first, then the smallest loss; HUGE keeps those that left out of it.
    state.choice[0] = np.lexsort((losses, state.mistakes))[0]
    return stays


def held_by(state: Support, params: Any, values: Mapping[str, Value], space: Space, stays: np.ndarray) -> Held:
    """The support vectors of all, in the order in which they came; of those that came together, by their keys."""
    found = values["kernel.last"]
    means = values.get("kernel.means", found)
    born = values["kernel.born"]
    assert found.keys is not None
    assert means.keys is not None
    assert born.keys is not None
    keys = born.keys
    unit, _ = unit_and_mean(state)
    # Back into units of the mixture's targets; members that left have the coefficient 0.
    back = stays / unit if unit > 0.0 else np.zeros(stays.shape[0])
    last, mean_coef = (spread_over(one.keys or (), one.high, keys) * back for one in (found, means))
    # By age, and by key among rows of the same age: no trace of the order of partitions.
    order = np.lexsort((np.arange(len(keys)), born.high))  # the keys ascend
    # Coefficients may have cancelled in the mean.
    order = order[last[order].any(axis=(1, 2)) | mean_coef[order].any(axis=(1, 2))]
    rows = rows_of([keys[k] for k in order.tolist()], int(state.marks[ROW_WIDTH]))
    own = values["kernel.own"].high[order] if params.kind == GIVEN_MATRIX else space.own(norms_of(rows))
    return Held(rows, last[order], mean_coef[order], born.high[order].astype(np.int64), own)


def filled(state: Support, params: Any, held: Held, space: Space) -> Support:
    """The fresh state with these support vectors."""
    count = held.born.shape[0]
    # Whole packs, rounded up, and at least one.
    packs = max(-(-count // PACK), 1)
    heap = max(held.rows.nnz, state.values.shape[0])
    width, models = int(state.marks[ROW_WIDTH]), state.tally.classes.shape[0]
    # Room first: arrays must hold all support vectors of all partitions.
    state = resized(state, params, width, models, packs, heap)
    state.marks[COUNT] = count
    state.born[:count] = held.born
    state.coef[...] = in_packs(held.last, state.coef.shape)
    if state.late.shape[0]:
        state.late[...] = in_packs((held.last - held.means) * weight_of_rows(state), state.late.shape)
    put_rows(state, held)
    if state.inverse.shape[0] and count:
        K = space.products(space.member, held.rows, held.rows)
        # The ridge that the learner's own projections use.
        K[np.diag_indices_from(K)] *= 1.0 + PROJECTION_RIDGE
        inverse = np.linalg.inv(K)
        # Symmetric to the last bit.
        state.inverse[:count, :count] = 0.5 * (inverse + inverse.T)
    if params.task == OUTLIER_TASK:
        put_centre(state, held, space)
    return state


def in_packs(values: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Numbers (rows, problems, members) as (packs, columns, 32)."""
    flat = np.zeros((shape[0] * PACK, shape[1]))
    flat[: values.shape[0], : values.shape[1] * values.shape[2]] = values.reshape(values.shape[0], -1)
    return flat.reshape(shape[0], PACK, shape[1]).transpose(0, 2, 1)


def put_rows(state: Support, held: Held) -> None:
    """The rows themselves and their norms."""
    count, rows = held.born.shape[0], held.rows
    norms = np.zeros((state.norms.shape[0] * PACK, 2))
    norms[:count, ROW_NORM], norms[:count, SELF_KERNEL] = norms_of(rows), held.own
    state.norms[...] = norms.reshape(-1, PACK, 2).transpose(0, 2, 1)
    # Sparse rows lie one behind the other in a heap; dense ones in packs.
    if state.spans.shape[0]:
        state.spans[:count, 0], state.spans[:count, 1] = rows.indptr[:-1], np.diff(rows.indptr)
        state.indices[: rows.nnz], state.values[: rows.nnz] = rows.indices, rows.data
        state.marks[HEAP] = rows.nnz
    else:
        flat = np.zeros((state.dense.shape[0] * PACK, state.dense.shape[1]))
        flat[:count] = rows.toarray()
        state.dense[...] = flat.reshape(state.dense.shape[0], PACK, -1).transpose(0, 2, 1)


def put_centre(state: Support, held: Held, space: Space) -> None:
    """‖c‖², ⟨c, u⟩ and ‖u‖², from the kernel of all support vectors with all."""
    c = held.last[:, 0, 0]
    u = (c - held.means[:, 0, 0]) * weight_of_rows(state)
    sums, step = np.zeros(3), max(1, KERNEL_VALUES_AT_ONCE // max(c.shape[0], 1))
    # In blocks: the whole kernel matrix may not fit in memory.
    for a in range(0, c.shape[0], step):
        K = space.products(0, held.rows[a : a + step], held.rows)
        here, there = c[a : a + step], u[a : a + step]
        sums += here @ (K @ c), here @ (K @ u), there @ (K @ u)
    state.centre[[CC, CU, MEAN_NORM]] = max(sums[0], 0.0), sums[1], sums[2]


MERGE_KERNELS = Mix(take, put, check)
MIXES = {Support: MERGE_KERNELS}
