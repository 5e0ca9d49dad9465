"""Actions of somebody who knows nothing but what is forbidden."""

import numpy as np

from hogwild.policies.spec import PolicySpec


def random_actions(spec: PolicySpec, observations: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Actions as a policy would give them that knows nothing but what is forbidden.

    >>> from hogwild.policies.spec import choice
    >>> random_actions(PolicySpec((4,), "float32", choice(1)), np.zeros((3, 4)), np.random.default_rng(0)).tolist()
    [0, 0, 0]
    """
    count = len(observations)
    allowed = observations[:, -spec.mask_size :] > 0 if spec.mask_size else None
    columns: list[np.ndarray] = []
    at = 0
    for part in spec.actions:
        if part.kind == "numbers":
            columns.append(random.uniform(-1.0, 1.0, (count, part.size)))
        elif part.kind == "switches":
            columns.append(random.integers(2, size=(count, part.size)))
        else:
            wish = random.random((count, part.size))
            if allowed is not None:
                wish *= allowed[:, at : at + part.size]
                at += part.size
            columns.append(wish.argmax(axis=1)[:, None])
    drawn = np.concatenate(columns, axis=1).astype(spec.action_dtype)
    return drawn[:, 0] if spec.is_choice else drawn
