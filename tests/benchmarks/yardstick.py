"""A fixed piece of work that says how fast this machine runs Python, so that figures can be compared between machines."""

import statistics
import time


def yardstick_seconds(times: int = 3) -> float:
    """The median processor time of the work: integers, dictionaries, sorting and calls, no memory to speak of."""
    taken = []
    for _ in range(times):
        started = time.process_time()
        _work()
        taken.append(time.process_time() - started)
    return statistics.median(taken)


def _work() -> int:
    state, counts = 12345, dict.fromkeys(range(1000), 0)
    for _ in range(3000):
        row = []
        for _ in range(300):
            state = (state * 1103515245 + 12345) & 0x7FFFFFFF
            row.append(state % 1000)
        row.sort()
        for value in row:
            counts[value] += _one(value)
    return sum(counts.values())


def _one(value: int) -> int:
    return 1 if value & 1 else 2
