"""Scores as probabilities, learned from what the pass sees before it learns a row.

Each row is scored before its label is learned, so its score and its label are an honest pair: the row was held out.
That is so of the first pass over the rows. After several passes of ``fit`` the model is another one, and the pairs are
those of held-out rows instead: see ``learners.base.held_out``.
With f_k the score of class k, by the model that predicts, what is counted is its lead

    d_k = f_k − max_{j≠k} f_j

and whether the row was of class k. A single score f for two classes stands for −f and f: its lead is d_1 = 2f, and
d_0 = −d_1 needs no counting of its own. A later model is a better one, so the t-th pair has the weight t². From row
4,096 on every fourth block of 128 rows is counted, and from row 65,536 on every eighth, which is enough and costs a
part of the time; but all of them are if there are costs (below).

**Members.** Where several settings learn side by side, the one that predicts may change, and with it the scale of the
scores. There d_k is divided by the mean size of the leads of late (the last 128 rows, or those since it changed).

**Bins.** Pairs are kept as weights in 128 bins of d: two an octave (the exponent of the float and the first bit of its
mantissa), from 2⁻²⁰ to 2¹², for either sign; the outermost take what lies beyond. So a pair costs a few instructions,
memory is bounded, and a bin is narrow where probabilities change.

**Sigmoid.** After Platt, p_k = 1/(1 + exp(−a_k d_k − b_k)), where a_k ≥ 0 and b_k minimise the log loss of the bins,
with targets (n₁ + 1)/(n₁ + 2) and 1/(n₀ + 2) instead of 1 and 0; n₁ and n₀ are how many pairs of each kind there are,
of which weights as above leave 5/9. The loss is convex, and Newton's method, with steps halved until the loss falls,
finds its minimum from anywhere. It starts from the last curve, or from a = 0 if that has the lower loss, after each
block of up to 32 rows at first, and from row 256 on eight times in every doubling of the rows.

**Isotonic.** The other form asks for no shape but that p_k grows with d_k: bins beside each other whose shares fall
are put together (pool adjacent violators), a pool of weight n with s of class k has (s + ½)/(n + 1), and between
the middles of bins p_k goes in a straight line.

The p_k of several classes are divided by their sum.

**Costs.** With weights v_k of the classes, the decision of least expected cost is argmax_k v_k p_k. Of two classes
that is the sign of d_1 + (b_1 + log(v_1/v_0))/a_1. Where two of several classes k and j compete, their log odds are
about ½(a_k d_k + b_k − a_j d_j − b_j) with d_j = −d_k, so f_k is raised by δ_k = (log v_k + ½b_k)/ā, ā the mean of
the a_k. For two classes this is the same. Weights that are all equal raise nothing.
"""

from __future__ import annotations

import numpy as np

from aggro.engine.jit.compile import exact, exact_part, inline, kernel, part
from aggro.engine.jit.intrinsics import bits_of
from aggro.engine.monitor.drift import LEAD_SIZE, SELECTED, SELECTED_SINCE

u8 = np.uint64
SIDE, BINS = 64, 128
OCTAVES = -20  # of the first bin
FIRST_BIN = 2 * (1023 + OCTAVES)  # its upper bits in a float
SLOPE, OFFSET, RAISED = range(3)  # of a class's curve: a, b and δ
EFFECTIVE = 5.0 / 3.0  # Σt² from 1 to T is T³/3, and as good as 5T/9 pairs of weight 1
LATE_ROWS = 128  # rows
FOURTH_BLOCKS_FROM, EIGHTH_BLOCKS_FROM = 4096, 65536  # rows after which every fourth block is enough, and every eighth
FIRST_CURVE_AFTER = 8  # pairs before the first curve
NEWTON_STEPS = 100  # of Newton's method, at the most; it takes three to ten
SHORTEST = 1e-12  # share of a Newton step that is tried
SETTLED_GAIN = 1e-10  # of the loss: a step that would gain less is the last
FURTHEST_RAISE = 4096.0  # that a score is raised
FLATTEST = 1e-3  # that costs are divided by, in the place of a slope of 0
BALANCED = -1.0  # in the place of costs: by the classes counted so far


def middles() -> np.ndarray:
    """The d in the middle of each bin."""
    k = np.arange(SIDE)
    # 1.25 and 1.75 times a power of two: the middles of the two halves of an octave.
    right = (1.25 + 0.5 * (k % 2)) * 2.0 ** (OCTAVES + k // 2)
    return np.concatenate([-right[::-1], right])


MIDDLES = middles()


@inline
def bin_of(d):
    """The bin of a lead, without a branch: 64 + k for one from 0 on, 63 − k below."""
    # The exponent and the first bit of the mantissa are neighbours: 12 bits that number half octaves.
    bits = bits_of(d)
    k = min(max(((bits >> 51) & 0xFFF) - FIRST_BIN, 0), SIDE - 1)
    # A shift of the sign bit gives all ones for a negative lead, and they flip 64 + k into 63 − k.
    return k ^ SIDE ^ ((bits >> 63) & (BINS - 1))


@inline
def are_paired(counted, filled, costs):
    """Whether the pairs of a block are counted that was begun ``filled`` rows ago."""
    # Decided by the first row of the block, so that a block is counted whole or not at all.
    begun = counted - filled
    return (
        begun < FOURTH_BLOCKS_FROM or (begun >> 7) & (3 if begun < EIGHTH_BLOCKS_FROM else 7) == 0 or costs.shape[0] > 0
    )


@inline
def add_pair(pairs, k, d, hit, t):
    """Count the t-th pair of class k; ``hit`` is 1 if the row was of that class, else 0."""
    pairs[k, u8(bin_of(d)), hit] += t * t


@exact
def divided(d, spread):
    """A lead in units of their mean size; to the letter, since what is near the edge of a bin must stay there."""
    return d / spread


@exact_part
def size_of_lead(tally, choice, size, counting):
    """What leads are divided by before a row with a lead of this size, by the member ``choice``; then it may count."""
    marks, sums = tally.marks, tally.sums
    # What is returned was known before this row: a lead is never measured by itself.
    spread = sums[LEAD_SIZE] if sums[LEAD_SIZE] > 0.0 else 1.0
    if not counting:
        return spread
    # Another candidate predicts: its scores may have another scale, so the mean moves to it quickly.
    if marks[SELECTED] != choice:
        marks[SELECTED], marks[SELECTED_SINCE] = choice, 0
    marks[SELECTED_SINCE] += 1
    # A plain mean at first, then a fading one over about LATE_ROWS rows. The first lead of all is the mean itself.
    share = 1.0 / np.float64(min(marks[SELECTED_SINCE] + 1, LATE_ROWS)) if sums[LEAD_SIZE] > 0.0 else 1.0
    sums[LEAD_SIZE] += share * (min(size, FURTHEST_RAISE) - sums[LEAD_SIZE])
    return spread


@inline
def lead_of(scores, columns, known):
    """How far the best score is above the second."""
    if columns == 1:
        return 2.0 * abs(scores[0])
    # Best and second best in one reading of the scores.
    best, second = -np.inf, -np.inf
    for k in range(known):
        f = scores[u8(k)]
        second = max(second, min(best, f))
        best = max(best, f)
    return best - second


@inline
def add_pairs(pairs, c, scores, known, t, spread):
    """Count the pairs of a row of class c that has a score for each of the ``known`` classes; of two, that of one."""
    # Of two classes one curve is enough, since the leads are mirror images.
    if known == 2 and c < 2:
        add_pair(pairs, u8(1), divided(scores[u8(1)] - scores[u8(0)], spread), u8(c == 1), t)
        return
    # The lead of a class is its score less the best of the others: the second best for the winner, else the best.
    best, second = -np.inf, -np.inf
    for k in range(known):
        f = scores[u8(k)]
        second = max(second, min(best, f))
        best = max(best, f)
    for k in range(known):
        f = scores[u8(k)]
        add_pair(pairs, u8(k), divided(f - (second if f == best else best), spread), u8(k == c), t)


@part
def split_pairs(pairs):
    """A third class comes: what was counted for the second of two classes is, mirrored, that of the first."""
    for i in range(u8(BINS)):
        pairs[u8(0), i, u8(0)] = pairs[u8(1), u8(BINS - 1) - i, u8(1)]
        pairs[u8(0), i, u8(1)] = pairs[u8(1), u8(BINS - 1) - i, u8(0)]


@inline
def is_mistaken_raised(curve, c, scores, columns, known, spread):
    """Whether class c would not have been predicted, of scores that are raised by the costs; a tie is a mistake."""
    if columns == 1:
        return (2.0 * c - 1.0) * (scores[0] + curve[u8(1), u8(RAISED)] * spread) <= 0.0
    own = scores[u8(c)] + curve[u8(c), u8(RAISED)] * spread
    mistaken = False
    for k in range(known):
        mistaken |= k != c and scores[u8(k)] + curve[u8(k), u8(RAISED)] * spread >= own
    return mistaken


# Curves -----------------------------------------------------------------------------------------------


@part
def slopes_of_loss(bins, high, low, a, b):
    """The loss of a curve, in units of the bins' weights, and its slopes and bends in a and b."""
    loss = ga = gb = haa = hab = hbb = 0.0
    for i in range(u8(BINS)):
        other, own = bins[i, u8(0)], bins[i, u8(1)]
        if other + own > 0.0:
            # A bin of pairs counts as one point at its middle, with softened targets for both kinds.
            d, both, wanted = MIDDLES[i], other + own, own * high + other * low
            z = a * d + b
            # exp of a number that is never positive cannot overflow;
            # p and the log loss follow from it for either sign of z.
            e = np.exp(-abs(z))
            p = (1.0 if z >= 0.0 else e) / (1.0 + e)
            loss += both * (max(z, 0.0) + np.log1p(e)) - wanted * z
            g = both * p - wanted
            # A bend that is never 0 keeps the Hessian positive where the sigmoid is flat.
            h = both * max(p * (1.0 - p), 1e-12)
            ga += g * d
            gb += g
            haa += h * d * d
            hab += h * d
            hbb += h
    return loss, ga, gb, haa, hab, hbb


@part
def fit_curve(bins, last, line):
    """Fit a and b of one class; ``last`` is the weight of the last pair."""
    n0 = n1 = 0.0
    for i in range(u8(BINS)):
        n0 += bins[i, u8(0)]
        n1 += bins[i, u8(1)]
    if n0 + n1 == 0.0:
        return
    # Two units: raw weights for the loss, and effective numbers of pairs for the targets.
    own, other = n1, n0
    n0, n1 = n0 * (EFFECTIVE / last), n1 * (EFFECTIVE / last)
    # Platt's targets (n₁ + 1)/(n₁ + 2) and 1/(n₀ + 2): they keep the slope finite where the classes are separable.
    high, low = (n1 + 1.0) / (n1 + 2.0), 1.0 / (n0 + 2.0)
    wanted = own * high + other * low
    # The log odds of the targets: the optimum of b with a = 0, in closed form.
    flat = np.log(wanted / (own + other - wanted))  # b of the best curve with a = 0
    least = (own + other) * (max(flat, 0.0) + np.log1p(np.exp(-abs(flat)))) - wanted * flat
    # Start from the last curve if it beats the flat one: few steps are then left. Else the flat one is the start.
    a, b = line[SLOPE], line[OFFSET]
    loss, ga, gb, haa, hab, hbb = slopes_of_loss(bins, high, low, a, b)
    if not (a > 0.0 and loss < least):
        a, b = 0.0, flat
        loss, ga, gb, haa, hab, hbb = slopes_of_loss(bins, high, low, a, b)
    # Newton's method on a convex loss in two numbers: the 2 × 2 system is solved by its determinant.
    for _ in range(NEWTON_STEPS):
        haa *= 1.0 + 1e-9  # a single bin leaves one of the two open
        det = haa * hbb - hab * hab
        if not det > 0.0:
            break
        da, db = (hbb * ga - hab * gb) / det, (haa * gb - hab * ga) / det
        gain = ga * da + gb * db  # of a whole step, twice what the parabola promises
        if not gain > SETTLED_GAIN * loss:
            break
        # Halve the step until the loss falls enough (Armijo). So the method converges from any start.
        step, before = 1.0, loss
        while step > SHORTEST:
            loss, ga, gb, haa, hab, hbb = slopes_of_loss(bins, high, low, a - step * da, b - step * db)
            if loss <= before - 1e-4 * step * gain:
                break
            step *= 0.5
        # No step of any length lowers the loss: the minimum is reached but for rounding.
        if not loss < before:
            break
        a, b = a - step * da, b - step * db
    if not (a > 0.0 and a < np.inf and abs(b) < np.inf):  # scores that say nothing
        a, b = 0.0, flat
    line[SLOPE], line[OFFSET] = a, b


@part
def raise_scores(tally, costs, live):
    """How much each class's score is raised, for the decision of least cost; not at all where costs are equal."""
    curve = tally.curve
    # Equal costs raise nothing. "balanced" never counts as equal: there the class counts decide.
    balanced = costs.shape[0] == 1 and costs[0] == BALANCED
    equal = not balanced
    for k in range(u8(live)):
        curve[k, u8(RAISED)] = 0.0
        equal &= costs[k] == costs[0] if not balanced else True
    # ā, the mean slope: it turns log odds into units of scores.
    slope = 0.0
    first = u8(0) if live > 2 else u8(1)
    for k in range(first, u8(live)):
        slope += curve[k, u8(SLOPE)] / np.float64(u8(live) - first)
    if equal or (balanced and not slope > 0.0):
        return
    if not slope > 0.0:  # scores that say nothing: the costs and the shares of the classes decide
        slope = FLATTEST
    # δ_k = (log v_k + ½b_k)/ā. Of two classes there is one curve, and the first class has its mirror image −b.
    for k in range(u8(live)):
        cost = 1.0 / max(tally.classes[k], 1.0) if balanced else max(costs[k], 1e-300)
        height = -curve[u8(1), u8(OFFSET)] if live == 2 and k == u8(0) else curve[k, u8(OFFSET)]
        curve[k, u8(RAISED)] = (np.log(cost) + 0.5 * height) / slope
    # Only differences between classes decide, so the mean is taken off; the raises stay near 0.
    middle = 0.0
    for k in range(u8(live)):
        middle += curve[k, u8(RAISED)] / np.float64(live)
    for k in range(u8(live)):
        curve[k, u8(RAISED)] = min(max(curve[k, u8(RAISED)] - middle, -FURTHEST_RAISE), FURTHEST_RAISE)


@part
def fit_curves(tally, counted, costs, live):
    """Fit all curves anew, after this many rows."""
    last = np.float64(counted) * np.float64(counted)
    first = u8(0) if live > 2 else u8(1)
    for k in range(first, u8(live)):
        fit_curve(tally.pairs[k], last, tally.curve[k])
    if costs.shape[0] > 0:
        raise_scores(tally, costs, live)


@inline
def is_due(counted):
    """Whether curves are to be fitted after so many rows, at the end of a block: eight times in every doubling.

    Up to row 256 blocks are longer than an eighth of a doubling, and curves are fitted after each of them.
    """
    # A curve of fewer pairs would be noise.
    if counted < FIRST_CURVE_AFTER:
        return False
    step = 32
    while counted >= 16 * step:
        step *= 2
    return counted <= 64 or counted % step == 0


# Probabilities ------------------------------------------------------------------------------------------


@kernel
def isotonic(pairs, counted, heights):
    """The heights of each class's bins by pools of those that fall; bins without pairs have that of the pool before."""
    # Weights become effective numbers of pairs, so that the ½ and 1 below are in units of a pair.
    last = max(np.float64(counted) * np.float64(counted), 1.0)
    own, all_, end = np.empty(BINS), np.empty(BINS), np.empty(BINS, np.int64)
    for k in range(u8(pairs.shape[0])):
        n = 0  # pools
        for i in range(BINS):
            w0, w1 = pairs[k, i, 0] * (EFFECTIVE / last), pairs[k, i, 1] * (EFFECTIVE / last)
            if w0 + w1 == 0.0:
                heights[k, i] = np.nan
                continue
            # Pool adjacent violators: each bin starts as a pool of its own.
            own[n], all_[n], end[n] = w1, w0 + w1, i
            heights[k, i] = 0.0
            n += 1
            # Merge while the share falls or stays; shares are compared by cross products, so nothing is divided.
            while n > 1 and own[n - 2] * all_[n - 1] >= own[n - 1] * all_[n - 2]:
                own[n - 2] += own[n - 1]
                all_[n - 2] += all_[n - 1]
                end[n - 2] = end[n - 1]
                n -= 1
        # (s + ½)/(n + 1): no probability is exactly 0 or 1. Bins without pairs stay NaN, and are interpolated later.
        pool = 0
        for i in range(BINS):
            if heights[k, i] == heights[k, i]:
                while end[pool] < i:
                    pool += 1
                heights[k, i] = (own[pool] + 0.5) / (all_[pool] + 1.0)


@inline
def by_heights(heights, d):
    """The height at d: on the line between the two bins with pairs that are nearest; that of the outermost beyond."""
    i = bin_of(d)
    if d < MIDDLES[i]:
        i -= 1  # the bin with its middle at or before d, -1 if there is none
    # Search outwards for bins that have pairs: NaN marks those without.
    low, high = i, i + 1
    while low >= 0 and heights[low] != heights[low]:
        low -= 1
    while high < BINS and heights[high] != heights[high]:
        high += 1
    # Beyond the outermost bins the height stays constant; without any pairs the probability is ½.
    if low < 0:
        return heights[high] if high < BINS else 0.5
    if high == BINS:
        return heights[low]
    share = min(max((d - MIDDLES[low]) / (MIDDLES[high] - MIDDLES[low]), 0.0), 1.0)
    return heights[low] + share * (heights[high] - heights[low])


@inline
def probability(line, heights, d):
    """That of a class with the lead d. Without a curve yet, a lead of 1 has odds of e."""
    if heights.shape[0]:
        return by_heights(heights, d)
    # 0, 0 marks a curve that was not fitted yet.
    a, b = line[SLOPE], line[OFFSET]
    if a == 0.0 and b == 0.0:
        a = 1.0
    # Cut at ±700, where exp is still a float.
    return 1.0 / (1.0 + np.exp(-min(max(a * d + b, -700.0), 700.0)))


@kernel
def probabilities(scores, curve, heights, shares):
    """Write each row's probabilities of the live classes, as many as ``shares`` has columns: two or more.

    ``heights`` is empty for sigmoids, else it has the heights of each class's bins.
    """
    live = u8(shares.shape[1])
    none = heights[:0, 0] if heights.shape[0] == 0 else heights[0]
    for i in range(u8(scores.shape[0])):
        # Two classes have one curve, so the probabilities sum to 1 without a division.
        if live == u8(2):
            d = 2.0 * scores[i, 0] if scores.shape[1] == 1 else scores[i, 1] - scores[i, 0]
            p = probability(curve[1], none if heights.shape[0] == 0 else heights[1], d)
            shares[i, 0], shares[i, 1] = 1.0 - p, p
            continue
        # One curve for each class against the best of the others; the shares are then divided by their sum.
        total = 0.0
        for k in range(live):
            # The lead of the class: its score less the best of the others.
            best = -np.inf
            for j in range(live):
                if j != k:
                    best = max(best, scores[i, j])
            p = probability(curve[k], none if heights.shape[0] == 0 else heights[k], scores[i, k] - best)
            shares[i, k] = p
            total += p
        for k in range(live):
            shares[i, k] = shares[i, k] / total if total > 0.0 else 1.0 / np.float64(live)
