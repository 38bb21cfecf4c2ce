"""What a gain must exceed so that it is more than the difference between periods.

SOURCE: Student's t for paired samples, one-sided at 97.5 %. The variance is that of the gains in all periods. Search periods and
held-out ones each have their own mean, because that of the search is biased: the trial was chosen by it.
"""

from collections.abc import Sequence
from math import isqrt

from reconciler.simulation.tuning.objective import MILLION

LEAST_GAIN_PPM = 10_000
"""Nobody merges a change for less than one percent."""
_T_PERMILLE = (12_706, 4_303, 3_182, 2_776, 2_571, 2_447, 2_365, 2_306, 2_262, 2_228, 2_201, 2_179, 2_160, 2_145, 2_131)
_T_MORE_PERMILLE = 2_131


def needed_ppm(searched: Sequence[int], held_out: Sequence[int]) -> int:
    """From the gains of single periods: what the mean of the held-out ones must be above."""
    squares = sum(_squares(gains) for gains in (searched, held_out))
    freedom = len(searched) + len(held_out) - 2
    if freedom < 1:
        return MILLION
    quantile = _T_PERMILLE[freedom - 1] if freedom <= len(_T_PERMILLE) else _T_MORE_PERMILLE
    return max(LEAST_GAIN_PPM, quantile * isqrt(squares // (freedom * len(held_out))) // 1000)


def _squares(gains: Sequence[int]) -> int:
    """The sum of squared distances from their mean."""
    count = len(gains)
    return sum((count * gain - sum(gains)) ** 2 for gain in gains) // (count * count)
