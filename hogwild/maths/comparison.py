"""Statistics of a few seeds, after Agarwal et al. (2021): interquartile means, stratified bootstrap, and the
probability that one method does better than another.

A stratum holds the scores of one environment. Seeds are only ever exchanged within their stratum, because what is a
good score in one environment says nothing about another.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
RESAMPLES = 5000
LEVEL = 0.95


def interquartile_mean(values: Array) -> Array:
    """Mean along the last axis without its lowest and highest quarter; with fewer than four values, of all of them.

    A quarter that is no whole number of values is rounded down, as in the authors' own code.

    >>> float(interquartile_mean(np.array([1.0, 2.0, 4.0, 100.0])))
    3.0
    """
    count = values.shape[-1]
    cut = count // 4
    return np.asarray(np.sort(values, axis=-1)[..., cut : count - cut].mean(axis=-1))


def stratified_interval(
    strata: Sequence[Array],
    statistic: Callable[[Array], Array] = interquartile_mean,
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> tuple[float, float]:
    """95 % bootstrap interval of a statistic of all scores, when seeds are drawn anew within each stratum.

    `statistic` works along the last axis. The same seed draws the same resamples.

    >>> low, high = stratified_interval([np.array([1.0, 2.0, 3.0])])
    >>> round(low, 2), round(high, 2)
    (1.0, 3.0)
    """
    random = np.random.default_rng(seed)
    drawn = np.concatenate([_redraw(stratum, resamples, random) for stratum in strata], axis=1)
    return _middle(statistic(drawn))


def probability_of_improvement(ours: Array, theirs: Array) -> Array:
    """Share of the pairs of seeds in which ours is higher, ties counted half; along the last axis of both.

    >>> float(probability_of_improvement(np.array([2.0, 3.0]), np.array([1.0, 3.0])))
    0.625
    """
    left, right = ours[..., :, None], theirs[..., None, :]
    return np.asarray((left > right).mean(axis=(-2, -1)) + 0.5 * (left == right).mean(axis=(-2, -1)))


def mean_improvement(ours: Sequence[Array], theirs: Sequence[Array]) -> Array:
    """Probability of improvement, averaged over strata: every environment counts the same.

    >>> better, worse = (np.array([2.0]), np.array([1.0])), (np.array([1.0]), np.array([3.0]))
    >>> float(mean_improvement(better, worse))
    0.5
    """
    pairs = zip(ours, theirs, strict=True)
    return np.asarray(np.mean([probability_of_improvement(left, right) for left, right in pairs], axis=0))


def improvement_interval(
    ours: Sequence[Array], theirs: Sequence[Array], *, resamples: int = RESAMPLES, seed: int = 0
) -> tuple[float, float]:
    """95 % bootstrap interval of the mean probability of improvement.

    >>> improvement_interval([np.array([2.0, 3.0])], [np.array([0.0, 1.0])])
    (1.0, 1.0)
    """
    random = np.random.default_rng(seed)
    left = [_redraw(stratum, resamples, random) for stratum in ours]
    right = [_redraw(stratum, resamples, random) for stratum in theirs]
    return _middle(mean_improvement(left, right))


def chance_of_such_a_lead(
    ours: Sequence[Array], theirs: Sequence[Array], *, shuffles: int = 2 * RESAMPLES, seed: int = 0
) -> float:
    """Probability that seeds of two equal methods lie at least as far apart as these, by a permutation test.

    The bootstrap cannot see this: two seeds above two others have a resampled interval of 1 to 1, and yet chance
    alone puts one pair above the other in a third of all cases.

    >>> chance = chance_of_such_a_lead([np.array([3.0, 4.0])], [np.array([1.0, 2.0])])
    >>> round(chance, 1)
    0.3
    """
    random = np.random.default_rng(seed)
    left, right = [], []
    for mine, other in zip(ours, theirs, strict=True):
        both = np.tile(np.concatenate([mine, other]), (shuffles, 1))
        shuffled = random.permuted(both, axis=1)
        left.append(shuffled[:, : len(mine)])
        right.append(shuffled[:, len(mine) :])
    found = abs(mean_improvement(ours, theirs) - 0.5)
    as_far = np.abs(mean_improvement(left, right) - 0.5) >= found - 1e-12  # equal shares may differ in the last bit
    return float((1 + as_far.sum()) / (1 + shuffles))  # the one that was found is one of the arrangements


def _redraw(stratum: Array, resamples: int, random: np.random.Generator) -> Array:
    return stratum[random.integers(len(stratum), size=(resamples, len(stratum)))]


def _middle(values: Array) -> tuple[float, float]:
    outside = 100 * (1 - LEVEL) / 2
    low, high = np.percentile(values, [outside, 100 - outside])
    return float(low), float(high)
