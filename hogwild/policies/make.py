"""The policy that the settings ask for."""

from typing import Any

from hogwild.config.settings import PolicySettings
from hogwild.errors import UsageError
from hogwild.own import load_own
from hogwild.policies.policy import Policy
from hogwild.policies.spec import PolicySpec


def make_policy(spec: PolicySpec, settings: PolicySettings) -> Policy:
    """Ours, or one of your own.

    >>> from hogwild.policies.spec import choice
    >>> make_policy(PolicySpec((4,), "float32", choice(2)), PolicySettings()).actions.size
    2
    """
    if not settings.policy_class:
        return Policy(spec, settings)
    kind: Any = load_own(settings.policy_class, "--policy-class")
    try:
        policy: Policy = kind(spec, settings)
    except Exception as error:
        words = f"{type(error).__name__}: {error}"
        raise UsageError(f"--policy-class {settings.policy_class} cannot be made: {words}") from error
    return policy
