"""V-trace against the sums of products in arXiv:1802.01561, with ends of episodes in every position."""

import itertools
import math

import pytest
import torch
from torch import Tensor

from hogwild.maths.returns import generalised_advantage, n_step_return
from hogwild.maths.vtrace import vtrace

T = 3
GAMMA = 0.9
ENDS = list(itertools.product(("no", "terminated", "truncated"), repeat=T))
LIMITS = [(1.0, 1.0), (0.6, 1.5), (1.5, 0.6), (0.3, 0.3), (math.inf, math.inf)]  # of rho and of c


def steps_with_ends(ends: tuple[str, ...]) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(ENDS.index(ends))
    terminated = torch.tensor([[e == "terminated"] for e in ends])
    truncated = torch.tensor([[e == "truncated"] for e in ends])
    values = torch.randn(T + 1, 1, generator=generator, dtype=torch.float64)
    final = torch.randn(T, 1, generator=generator, dtype=torch.float64)
    return {
        "log_ratio": torch.randn(T, 1, generator=generator, dtype=torch.float64),
        "reward": torch.randn(T, 1, generator=generator, dtype=torch.float64),
        "discount": GAMMA * (~terminated).double(),
        "value": values[:-1],
        "next_value": torch.where(truncated, final, values[1:]),
        "cut": terminated | truncated,
    }


def on_policy(ends: tuple[str, ...]) -> dict[str, Tensor]:
    steps = steps_with_ends(ends)
    return {**steps, "log_ratio": torch.zeros_like(steps["log_ratio"])}


def by_definition(
    steps: dict[str, Tensor], ends: tuple[str, ...], rho_max: float, c_max: float, lam: float
) -> tuple[list[float], list[float]]:
    """Targets v and advantages of the paper's equations (1) and following, each step on its own.

    The sums end with the episode; after its last step comes the bootstrap, or, if it terminated, nothing.
    """
    flat = {name: tensor.flatten().tolist() for name, tensor in steps.items()}
    ratio = [math.exp(x) for x in flat["log_ratio"]]
    rho = [min(rho_max, x) for x in ratio]
    c = [lam * min(c_max, x) for x in ratio]
    last = [next((k for k in range(t, T) if ends[k] != "no"), T - 1) for t in range(T)]
    bootstrap = [0.0 if ends[t] == "terminated" else flat["next_value"][t] for t in range(T)]
    delta = [rho[t] * (flat["reward"][t] + GAMMA * bootstrap[t] - flat["value"][t]) for t in range(T)]
    target = [
        flat["value"][s] + sum(GAMMA ** (t - s) * math.prod(c[s:t]) * delta[t] for t in range(s, last[s] + 1))
        for s in range(T)
    ]
    after = [bootstrap[s] if s == last[s] else target[s + 1] for s in range(T)]
    advantage = [rho[s] * (flat["reward"][s] + GAMMA * after[s] - flat["value"][s]) for s in range(T)]
    return target, advantage


@pytest.mark.parametrize("ends", ENDS, ids="-".join)
@pytest.mark.parametrize(("rho_max", "c_max"), LIMITS)
@pytest.mark.parametrize("lam", [0.0, 0.7, 1.0])
def test_targets_and_advantages_are_what_the_paper_says(
    ends: tuple[str, ...], rho_max: float, c_max: float, lam: float
) -> None:
    steps = steps_with_ends(ends)
    found = vtrace(**steps, limits=(rho_max, c_max), lam=lam)
    target, advantage = by_definition(steps, ends, rho_max, c_max, lam)
    assert found.target.flatten().tolist() == pytest.approx(target, rel=1e-10, abs=1e-12)
    assert found.advantage.flatten().tolist() == pytest.approx(advantage, rel=1e-10, abs=1e-12)


def test_the_ratios_of_these_tests_lie_on_both_sides_of_every_limit() -> None:
    ratios = torch.cat([steps_with_ends(ends)["log_ratio"] for ends in ENDS]).exp()
    for limit in {x for limits in LIMITS for x in limits if x < math.inf}:
        assert 0.1 < (ratios > limit).double().mean() < 0.9


@pytest.mark.parametrize("ends", ENDS, ids="-".join)
def test_where_the_policies_agree_targets_are_n_step_returns(ends: tuple[str, ...]) -> None:
    steps = on_policy(ends)
    found = vtrace(**steps)
    expected = n_step_return(steps["reward"], steps["discount"], steps["next_value"], steps["cut"])
    torch.testing.assert_close(found.target, expected, rtol=0, atol=1e-14)
    torch.testing.assert_close(found.advantage, expected - steps["value"], rtol=0, atol=1e-14)


@pytest.mark.parametrize("ends", ENDS, ids="-".join)
@pytest.mark.parametrize("lam", [0.0, 0.7])
def test_where_the_policies_agree_lambda_is_that_of_generalised_advantages(ends: tuple[str, ...], lam: float) -> None:
    steps = on_policy(ends)
    found = vtrace(**steps, lam=lam)
    del steps["log_ratio"]
    torch.testing.assert_close(found.target, generalised_advantage(**steps, lam=lam) + steps["value"])


@pytest.mark.parametrize("at", range(T))
def test_a_truncated_episode_counts_the_value_of_its_real_last_observation(at: int) -> None:
    """One more there is one more after `at` steps, weighted and discounted; the steps after it hear nothing of it."""
    steps = steps_with_ends(tuple("truncated" if t == at else "no" for t in range(T)))
    more = steps["next_value"].clone()
    more[at] += 1.0
    plain, raised = vtrace(**steps), vtrace(**{**steps, "next_value": more})
    weight = steps["log_ratio"].exp().clamp_max(1.0).flatten().tolist()
    change = [GAMMA ** (at + 1 - t) * math.prod(weight[t : at + 1]) if t <= at else 0.0 for t in range(T)]
    assert (raised.target - plain.target).flatten().tolist() == pytest.approx(change)
    assert (raised.advantage - plain.advantage).flatten().tolist() == pytest.approx(change)


@pytest.mark.parametrize("end", ["terminated", "truncated"])
@pytest.mark.parametrize("at", range(T - 1))
def test_nothing_of_the_next_episode_reaches_the_last_one(end: str, at: int) -> None:
    steps = steps_with_ends(tuple(end if t == at else "no" for t in range(T)))
    other = {name: tensor.clone() for name, tensor in steps.items()}
    for name in ("log_ratio", "reward", "value", "next_value"):
        other[name][at + 1 :] += 1.0
    for before, after in zip(vtrace(**steps), vtrace(**other), strict=True):
        assert torch.equal(before[: at + 1], after[: at + 1])
        assert (before[at + 1 :] != after[at + 1 :]).all()


@pytest.mark.parametrize("at", range(T))
def test_nothing_follows_a_terminated_episode(at: int) -> None:
    steps = steps_with_ends(tuple("terminated" if t == at else "no" for t in range(T)))
    other = steps["next_value"].clone()
    other[at] = 1000.0
    for before, after in zip(vtrace(**steps), vtrace(**{**steps, "next_value": other}), strict=True):
        assert torch.equal(before, after)


def test_a_step_that_the_new_policy_never_takes_teaches_nothing() -> None:
    steps = steps_with_ends(("no", "no", "no"))
    steps["log_ratio"] = torch.tensor([[0.0], [-math.inf], [0.0]], dtype=torch.float64)
    found = vtrace(**steps)
    assert found.advantage[1].item() == 0.0
    assert found.target[1].item() == steps["value"][1].item()


def test_environments_do_not_touch_each_other() -> None:
    columns = [steps_with_ends(ends) for ends in ENDS]
    together = {name: torch.cat([c[name] for c in columns], dim=1) for name in columns[0]}
    found = vtrace(**together, limits=(0.8, 1.2), lam=0.9)
    apart = [vtrace(**c, limits=(0.8, 1.2), lam=0.9) for c in columns]
    torch.testing.assert_close(found.target, torch.cat([a.target for a in apart], dim=1))
    torch.testing.assert_close(found.advantage, torch.cat([a.advantage for a in apart], dim=1))
