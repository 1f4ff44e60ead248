"""Whether a stream has changed: a window over the last rows, and ADWIN over what was progressively wrong.

Each row is predicted before it is learned. Its error u is 1 for a class that was predicted wrongly, else 0.

A number, or an outlier, has a loss v ≥ 0 without a bound: the one that the step minimises, which is the square of the
distance for least squares. Its error is u = min(v/(16 r), 1), where r is the mean of v over the last rows when the
window began. So u rises with the very mean that learning lowers, and a single row counts 16 mean losses at most. (Of a
model of least squares the mean distance may rise while it learns: it gives up the many small errors for the few large
ones.) When the mean has halved, or is 8 r, then r is taken anew and the window begins anew.

Rows come in blocks of 8, from row 64 on of 32, and from row 2,048 on of 128.

**Window.** The last 32 blocks have their errors and losses in a ring; the newest of them, up to 1,024 rows, are what is
recent.

**ADWIN** (Bifet and Gavaldà 2007). The errors since the last change are kept in buckets: at most three of each size,
the sizes being 1, 2, 4, … blocks; the two oldest of a size that has four become one of the next. At a block's end the
ways to cut the window into an old part and a new one are tried (those with many new rows at each eighth block). The
parts differ if

    |μ_old − μ_new| > √(2/m · σ² · L) + 2/(3m) · L,   1/m = 1/n_old + 1/n_new,   L = ln(2 ln(n)/δ)

with σ² the variance of the whole window, δ = 0.002, and for L the largest n that a window with so many sizes can
have. (Both sides are multiplied by n_old n_new, so nothing is divided.) What is called drift is a rise of the error:
then the old part is forgotten. That the error falls is what learning is for: then the oldest buckets go until no two
parts differ, and that is all.
"""

from __future__ import annotations

import numpy as np

from aggro.engine.jit.compile import exact, inline, part

u8 = np.uint64
ROWS_COUNTED, BLOCK_ROWS, RING_PLACE, N_CHANGES = range(
    4
)  # of the marks: rows; of the block; the next in the ring; changes so far
CHANGES_KEPT = 8  # rows at which there was a change, behind
SELECTED, SELECTED_SINCE = (
    N_CHANGES + 1 + CHANGES_KEPT,
    N_CHANGES + 2 + CHANGES_KEPT,
)  # the member that predicts, and rows since it does
N_MARKS = SELECTED_SINCE + 1
BLOCK_ERRORS, BLOCK_SQUARES, BLOCK_LOSS = range(3)  # of the sums: of the block that is not full
REFERENCE, ALL_ROWS, ALL_ERRORS, ALL_SQUARES = range(3, 7)  # r; of the whole window
LEAD_SIZE = 7  # with classes, the mean size of the lead of the member that predicts: see ``engine.monitor.calibration``
WATCHED = 7  # without classes, the losses v of the block
N_SUMS = 8
LARGEST_BLOCK = 128  # rows of a block
BLOCKS = 32  # in the ring
RECENT_ROWS = 1024  # rows
ROWS, ERRORS, LOSSES = range(3)  # of a block in the ring; without classes, ERRORS are the losses v
BUCKET_SIZES, BUCKETS_OF_A_SIZE = 44, 4  # sizes of buckets, and one more than there are of each
DRIFT_CONFIDENCE = 0.002  # δ
SMALL_BUCKETS = 3  # sizes of buckets where a cut is looked for at each block; elsewhere at every eighth
ROWS_BEFORE_TESTS = 160  # rows of the window before it is looked at
LARGEST_LOSS = 16.0  # mean losses that a single row may count


@inline
def block_size(counted, filled):
    """Rows of the block that is being filled."""
    before = counted - filled
    return 8 if before < 64 else 32 if before < 2048 else LARGEST_BLOCK


@exact
def error_of(loss, reference):
    """u of a row with a loss v: divided as it stands, so that both loops of the pass have the same bits."""
    return min(loss / (LARGEST_LOSS * reference), 1.0) if loss > 0.0 else 0.0


@inline
def into_ring(tally, rows):
    """The block that is full is one of the last ones."""
    block = tally.recent[u8(tally.marks[RING_PLACE])]
    block[ROWS] = rows
    block[ERRORS] = tally.sums[BLOCK_ERRORS] if tally.classes.shape[0] > 1 else tally.sums[WATCHED]
    block[LOSSES] = tally.sums[BLOCK_LOSS]
    tally.marks[RING_PLACE] = (tally.marks[RING_PLACE] + 1) % BLOCKS


@inline
def into_window(tally, rows):
    """The block that is full is the newest bucket; where there are four of a size, the two oldest become one."""
    window, counts, sums = tally.window, tally.counts, tally.sums
    # A bucket keeps the rows, the sum of errors and the sum of their squares: enough for a mean and a variance.
    n, s, ss = rows, sums[BLOCK_ERRORS], sums[BLOCK_SQUARES]
    sums[ALL_ROWS] += n
    sums[ALL_ERRORS] += s
    sums[ALL_SQUARES] += ss
    # From the smallest size up: each size that is full passes a merged pair on to the next one.
    for level in range(u8(BUCKET_SIZES)):
        count = u8(counts[level])
        row = window[level]
        if count < u8(BUCKETS_OF_A_SIZE - 1) or level == u8(BUCKET_SIZES - 1):
            if count == u8(BUCKETS_OF_A_SIZE - 1):  # beyond all sizes, after 10¹⁵ rows: no longer
                return
            row[count, 0], row[count, 1], row[count, 2] = n, s, ss
            counts[level] = np.int64(count) + 1
            return
        # Oldest first: the new one goes to the end, the first two go up as one.
        up_n, up_s, up_ss = row[0, 0] + row[1, 0], row[0, 1] + row[1, 1], row[0, 2] + row[1, 2]
        for k in range(u8(2), count):
            for j in range(u8(3)):
                row[k - u8(2), j] = row[k, j]
        row[count - u8(2), 0], row[count - u8(2), 1], row[count - u8(2), 2] = n, s, ss
        counts[level] = np.int64(count) - 1
        n, s, ss = up_n, up_s, up_ss


def doubts() -> np.ndarray:
    """L, by the number of sizes that the window has."""
    # The most rows that a window with so many sizes can hold. L then changes with the sizes, and not with every row.
    most = np.array([128.0 * BUCKETS_OF_A_SIZE * 2.0**levels for levels in range(BUCKET_SIZES + 1)])
    return np.asarray(np.log(2.0 * np.log(most) / DRIFT_CONFIDENCE))


DOUBTS = doubts()


@inline
def cut_found(tally, most):
    """Whether two parts of the window differ, the new one of the ``most`` smallest sizes of buckets.

    The rows of the new part if it has more errors, -1 if it has less, else 0.
    """
    window, counts, sums = tally.window, tally.counts, tally.sums
    n, s, ss = sums[ALL_ROWS], sums[ALL_ERRORS], sums[ALL_SQUARES]
    if n < ROWS_BEFORE_TESTS:
        return 0.0
    levels = u8(0)
    while levels < u8(BUCKET_SIZES) and counts[levels] > 0:  # none is empty below the largest
        levels += u8(1)
    # The condition times n_old·n_new, without a division: |rise| > √(bar·n_old·n_new) + margin, where
    # bar = 2σ²·L·n and margin = (2/3)·L·n.
    mean = s / n
    doubt = DOUBTS[levels] * n
    # Cut at 0: rounding may leave a variance slightly below it.
    bar = 2.0 * max(ss / n - mean * mean, 0.0) * doubt
    margin = (2.0 / 3.0) * doubt
    new_n = new_s = 0.0
    found = 0.0
    # From the newest bucket back, so that the new part of the next cut is this one and a bucket more.
    for level in range(min(levels, u8(most))):
        for back in range(u8(1), u8(counts[level]) + u8(1)):
            k = u8(counts[level]) - back
            new_n += window[level, k, u8(0)]
            new_s += window[level, k, u8(1)]
            rise = new_s * n - s * new_n  # times n_old n_new
            rest = abs(rise) - margin
            # Both sides squared instead of a root; that is allowed because the left side is above 0 by then.
            if rest > 0.0 and rest * rest > bar * new_n * (n - new_n):
                if rise > 0.0:
                    return new_n
                # A fall of the error is only remembered: an older cut may still show a rise, which is what drift means.
                found = -1.0
    return found


@part
def add_up(tally):
    """The window's rows, errors and squares."""
    # Summed over the buckets anew instead of subtracting what left, so rounding errors do not pile up.
    n = s = ss = 0.0
    for level in range(u8(BUCKET_SIZES)):
        for k in range(u8(tally.counts[level])):
            n += tally.window[level, k, u8(0)]
            s += tally.window[level, k, u8(1)]
            ss += tally.window[level, k, u8(2)]
    tally.sums[ALL_ROWS], tally.sums[ALL_ERRORS], tally.sums[ALL_SQUARES] = n, s, ss


@part
def forget_oldest(tally):
    """Drop the oldest bucket of the window."""
    counts = tally.counts
    # The oldest bucket is the first one of the largest size in use.
    for back in range(u8(BUCKET_SIZES)):
        level = u8(BUCKET_SIZES - 1) - back
        if counts[level] > 0:
            row = tally.window[level]
            for k in range(u8(1), u8(counts[level])):
                for j in range(u8(3)):
                    row[k - u8(1), j] = row[k, j]
            counts[level] -= 1
            return


@part
def refer_anew(tally, mean):
    """The window of losses begins anew, with this mean as what they are measured by."""
    tally.sums[REFERENCE] = mean
    for level in range(u8(BUCKET_SIZES)):
        tally.counts[level] = 0
    add_up(tally)


@inline
def recent_mean(tally):
    """The mean loss v of the blocks in the ring."""
    rows = losses = 0.0
    for k in range(u8(BLOCKS)):
        rows += tally.recent[k, u8(ROWS)]
        losses += tally.recent[k, u8(ERRORS)]
    return losses / max(rows, 1.0)


@inline
def look_for_change(tally, rows, seen):
    """The end of a block of so many rows: it enters ring and window, and drift is noted at row ``seen``."""
    into_ring(tally, rows)
    # Losses have an error only once a reference mean is known; until then the window stays empty.
    if tally.classes.shape[0] > 1 or tally.sums[REFERENCE] > 0.0:
        into_window(tally, rows)
    tally.sums[BLOCK_ERRORS] = tally.sums[BLOCK_SQUARES] = tally.sums[BLOCK_LOSS] = 0.0
    risen = False
    # An old cut can wait: one that was not there at the last block came with the newest rows.
    found = cut_found(tally, BUCKET_SIZES if tally.marks[RING_PLACE] % 8 == 0 else SMALL_BUCKETS)
    # A cut was found: drop old buckets until no two parts of the window differ any more.
    while found != 0.0:
        risen |= found > 0.0
        forget_oldest(tally)
        add_up(tally)
        # After a rise the whole old part goes: its rows describe a stream that is over.
        while found > 0.0 and tally.sums[ALL_ROWS] > found:
            forget_oldest(tally)
            add_up(tally)
        found = cut_found(tally, BUCKET_SIZES)
    # The last changes are a ring: the newest row overwrites the oldest.
    if risen:
        drifts = tally.marks[N_CHANGES]
        tally.marks[u8(N_CHANGES + 1 + drifts % CHANGES_KEPT)] = seen
        tally.marks[N_CHANGES] = drifts + 1
    if tally.classes.shape[0] == 1:
        tally.sums[WATCHED] = 0.0
        # The unit of losses follows the stream: below half of the
        # reference, or from 8 times it on, a new window starts.
        mean, reference = recent_mean(tally), tally.sums[REFERENCE]
        if mean > 0.0 and not 0.5 * reference <= mean < 0.5 * LARGEST_LOSS * reference:
            refer_anew(tally, mean)
