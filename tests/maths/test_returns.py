"""Returns and advantages against transcriptions of their definitions, with ends of episodes in every position."""

import itertools
import math

import pytest
import torch
from torch import Tensor

from hogwild.maths.returns import generalised_advantage, monte_carlo_return, n_step_return

T = 4
ENDS = list(itertools.product(("no", "terminated", "truncated"), repeat=T))


def rollout_with_ends(ends: tuple[str, ...]) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(ENDS.index(ends))
    terminated = torch.tensor([[e == "terminated"] for e in ends])
    truncated = torch.tensor([[e == "truncated"] for e in ends])
    values = torch.randn(T + 1, 1, generator=generator, dtype=torch.float64)
    final = torch.randn(T, 1, generator=generator, dtype=torch.float64)
    return {
        "reward": torch.randn(T, 1, generator=generator, dtype=torch.float64),
        "discount": 0.9 * (~terminated).double(),
        "value": values[:-1],
        "next_value": torch.where(truncated, final, values[1:]),
        "cut": terminated | truncated,
    }


def last_step_of_episode(cut: list[bool], t: int) -> int:
    return next((k for k in range(t, len(cut)) if cut[k]), len(cut) - 1)


def advantage_by_definition(r: dict[str, Tensor], lam: float) -> list[float]:
    """The sum over k of (gamma lambda)^k times the error of step t+k, up to the end of the episode."""
    flat = {k: v.flatten().tolist() for k, v in r.items()}
    result = []
    for t in range(T):
        last = last_step_of_episode(flat["cut"], t)
        terms = []
        for k in range(t, last + 1):
            error = flat["reward"][k] + flat["discount"][k] * flat["next_value"][k] - flat["value"][k]
            terms.append(math.prod(lam * flat["discount"][i] for i in range(t, k)) * error)
        result.append(sum(terms))
    return result


def return_by_definition(r: dict[str, Tensor]) -> list[float]:
    """Discounted rewards up to the end of the episode or rollout, then the value of what follows."""
    flat = {k: v.flatten().tolist() for k, v in r.items()}
    result = []
    for t in range(T):
        last = last_step_of_episode(flat["cut"], t)
        rewards = sum(math.prod(flat["discount"][t:k]) * flat["reward"][k] for k in range(t, last + 1))
        result.append(rewards + math.prod(flat["discount"][t : last + 1]) * flat["next_value"][last])
    return result


@pytest.mark.parametrize("ends", ENDS, ids="-".join)
@pytest.mark.parametrize("lam", [0.0, 0.7, 1.0])
def test_generalised_advantage_is_its_definition(ends: tuple[str, ...], lam: float) -> None:
    r = rollout_with_ends(ends)
    assert generalised_advantage(**r, lam=lam).flatten().tolist() == pytest.approx(advantage_by_definition(r, lam))


@pytest.mark.parametrize("ends", ENDS, ids="-".join)
def test_n_step_return_is_its_definition(ends: tuple[str, ...]) -> None:
    r = rollout_with_ends(ends)
    computed = n_step_return(r["reward"], r["discount"], r["next_value"], r["cut"])
    assert computed.flatten().tolist() == pytest.approx(return_by_definition(r))


@pytest.mark.parametrize("ends", ENDS, ids="-".join)
def test_generalised_advantage_with_lambda_one_is_the_n_step_advantage(ends: tuple[str, ...]) -> None:
    r = rollout_with_ends(ends)
    n_step = n_step_return(r["reward"], r["discount"], r["next_value"], r["cut"]) - r["value"]
    torch.testing.assert_close(generalised_advantage(**r, lam=1.0), n_step)


@pytest.mark.parametrize("ends", ENDS, ids="-".join)
def test_monte_carlo_return_is_the_sum_of_rewards_of_whole_episodes(ends: tuple[str, ...]) -> None:
    r = rollout_with_ends(ends)
    returns, known = monte_carlo_return(r["reward"], r["discount"], r["cut"])
    cut, reward = r["cut"].flatten().tolist(), r["reward"].flatten().tolist()
    for t in range(T):
        ends_later = any(cut[t:])
        assert known[t].item() == ends_later
        if ends_later:
            last = last_step_of_episode(cut, t)
            expected = sum(0.9 ** (k - t) * reward[k] for k in range(t, last + 1))
            assert returns[t].item() == pytest.approx(expected)


def test_a_trace_over_two_episodes_equals_the_two_traces_apart() -> None:
    first, second = (
        rollout_with_ends(("no", "no", "no", "truncated")),
        rollout_with_ends(("no", "terminated", "no", "no")),
    )
    both = {k: torch.cat([first[k], second[k]]) for k in first}
    apart = torch.cat([generalised_advantage(**first, lam=0.9), generalised_advantage(**second, lam=0.9)])
    torch.testing.assert_close(generalised_advantage(**both, lam=0.9), apart)


def test_environments_do_not_touch_each_other() -> None:
    columns = [rollout_with_ends(ends) for ends in ENDS[:5]]
    together = {k: torch.cat([c[k] for c in columns], dim=1) for k in columns[0]}
    apart = torch.cat([generalised_advantage(**c, lam=0.8) for c in columns], dim=1)
    torch.testing.assert_close(generalised_advantage(**together, lam=0.8), apart)
