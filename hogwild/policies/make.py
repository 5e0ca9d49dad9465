"""The policy that the settings ask for."""

from typing import Any

from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm, _NormBase
from torch.nn.modules.dropout import _DropoutNd

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
    policy = Policy(spec, settings) if not settings.policy_class else _make_own(spec, settings)
    _require_still(policy)
    return policy


def _make_own(spec: PolicySpec, settings: PolicySettings) -> Policy:
    kind: Any = load_own(settings.policy_class, "--policy-class")
    try:
        policy: Policy = kind(spec, settings)
    except Exception as error:
        words = f"{type(error).__name__}: {error}"
        raise UsageError(f"--policy-class {settings.policy_class} cannot be made: {words}") from error
    return policy


def _require_still(policy: nn.Module) -> None:
    """Refuse layers that change while they answer: what acted would not be what is learned from."""
    for name, module in policy.named_modules():
        keeps_figures = isinstance(module, _NormBase) and module.track_running_stats
        if isinstance(module, _BatchNorm) or keeps_figures or (isinstance(module, _DropoutNd) and module.p > 0):
            raise UsageError(
                f"The layer '{name}' ({type(module).__name__}) answers otherwise each time, so that acting and "
                "learning would not agree. LayerNorm and GroupNorm do not; there is also --dropout."
            )
