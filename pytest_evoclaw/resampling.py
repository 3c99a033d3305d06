"""Intervals and p-values of a sample of task means; needs numpy and scipy (the extra ``stats``).

Imported where numbers are computed, at the end of a session. Randomness has a fixed seed, so the
same sample gives the same numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy import special

Interval = tuple[float, float]
Sample = Sequence[float]

CONFIDENCE = 0.95
RESAMPLES = 10_000
SEED = 20_260_709
EXACT_PAIRS = 12  # up to here all 2^n signs are tried
SAME = 1e-12  # means that differ less are equal: they are sums of floats in another order


def compute_t_interval(sample: Sample) -> Interval:
    """Return mean ± t * standard error, with n - 1 degrees of freedom, of at least two values."""
    values = np.asarray(sample, dtype=float)
    half = _find_t(len(values)) * float(values.std(ddof=1)) / math.sqrt(len(values))
    mean = float(values.mean())
    return mean - half, mean + half


def compute_bootstrap_interval(sample: Sample) -> Interval:
    """Return the percentile interval over resampled tasks, widened for few tasks.

    Percentiles alone cover too little in small samples, because they divide by n and use normal
    tails; the level is moved to where those of t with n - 1 degrees of freedom are (Hesterberg,
    "What Teachers Should Know About the Bootstrap", 2015, section 4.1).
    """
    values = np.asarray(sample, dtype=float)
    count = len(values)
    tail = float(special.ndtr(-math.sqrt(count / (count - 1)) * _find_t(count)))
    low, high = np.quantile(_draw_weights(count) @ values, [tail, 1 - tail])
    return float(low), float(high)


def compute_p_value(differences: Sample) -> float:
    """Return the two-sided p-value of paired differences whose signs are exchangeable.

    Exact for up to 12 pairs; else over random signs, where the observed ones count as one of them.
    """
    values = np.asarray(differences, dtype=float)
    observed = abs(float(values.mean()))
    means = np.abs(_draw_signs(len(values)) @ values)
    extreme = int(np.count_nonzero(means >= observed - SAME))
    if len(values) <= EXACT_PAIRS:
        return extreme / len(means)
    return (extreme + 1) / (len(means) + 1)


def _find_t(count: int) -> float:
    return float(special.stdtrit(count - 1, (1 + CONFIDENCE) / 2))


@lru_cache(maxsize=1)
def _draw_weights(count: int) -> NDArray[np.float64]:
    """Return how often each of ``count`` tasks is in each resample, divided by ``count``."""
    random = np.random.default_rng(SEED)
    drawn = random.integers(0, count, size=(RESAMPLES, count))
    drawn += count * np.arange(RESAMPLES)[:, None]
    counts = np.bincount(drawn.ravel(), minlength=RESAMPLES * count)
    return counts.reshape(RESAMPLES, count) / count


@lru_cache(maxsize=1)
def _draw_signs(count: int) -> NDArray[np.float64]:
    """Return signs for ``count`` pairs, one row a permutation, divided by ``count``."""
    if count <= EXACT_PAIRS:
        return np.array(list(product((-1.0, 1.0), repeat=count))) / count
    random = np.random.default_rng(SEED)
    return (2.0 * random.integers(0, 2, size=(RESAMPLES - 1, count)) - 1) / count
