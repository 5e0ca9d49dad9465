"""Settings that change while training goes on. Every schedule is a function of the number of steps, nothing else."""


def linear(initial: float, final_fraction: float, by_step: int, step: int, from_step: int = 0) -> float:
    """`initial` until `from_step`, then straight to `initial * final_fraction` at `by_step`, then constant.

    `by_step=0` means no schedule: always `initial`.

    >>> linear(1.0, 0.1, 100, 50), linear(1.0, 0.1, 100, 75, from_step=50)
    (0.55, 0.55)
    """
    if by_step <= from_step:
        return initial
    progress = min(max((step - from_step) / (by_step - from_step), 0.0), 1.0)
    return initial * (1.0 - progress * (1.0 - final_fraction))
