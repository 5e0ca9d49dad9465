"""Settings that change while training goes on. Every schedule is a function of the number of steps, nothing else."""


def linear(initial: float, final_fraction: float, by_step: int, step: int) -> float:
    """Value on the straight line from `initial` at step 0 to `initial * final_fraction` at `by_step`, then constant.

    `by_step=0` means no schedule: always `initial`.

    >>> linear(1.0, 0.1, 100, 50)
    0.55
    """
    if by_step <= 0:
        return initial
    progress = min(max(step / by_step, 0.0), 1.0)
    return initial * (1.0 - progress * (1.0 - final_fraction))


def second_half(by_step: int, step: int) -> float:
    """How much of the second half of a schedule has passed: 0 until `by_step / 2`, then up to 1 at `by_step`.

    >>> [second_half(100, step) for step in (0, 50, 75, 100, 200)]
    [0.0, 0.0, 0.5, 1.0, 1.0]
    """
    return min(max(2.0 * step / by_step - 1.0, 0.0), 1.0) if by_step > 0 else 0.0
