"""The PPO loss against a slow version that follows the equations step by step; and how it goes through a rollout."""

import dataclasses
import math
from typing import Any

import pytest
import torch
from by_hand import (
    GAMMA,
    LAMBDA,
    N,
    T,
    acted_by,
    assert_same_loss_and_gradient,
    entropy_by_hand,
    gradient_of,
    loss_of,
    make_policy,
    make_rollout,
    normalised_by_hand,
    target_by_hand,
    total_by_hand,
    value_error_by_hand,
)
from torch import Tensor

from hogwild.config.settings import Settings
from hogwild.objectives import make_objective
from hogwild.objectives.a3c import A3C
from hogwild.objectives.minibatch import Minibatch, shuffled_sequences, shuffled_steps, whole
from hogwild.objectives.ppo import PPO
from hogwild.objectives.targets import Targets
from hogwild.objectives.terms import Terms
from hogwild.policies.distributions import Choice
from hogwild.policies.policy import Output, Policy
from hogwild.rollout import Rollout

ONLY_POLICY = Terms(entropy=0.0, value_coef=0.0)


def loss_by_hand(policy: Policy, r: Rollout, ppo: PPO) -> tuple[Tensor, float, set[str]]:
    """The loss, the divergence, and which cases of the equations there were."""
    out = policy(r.observations, r.state, r.first)
    target, advantage = {}, {}
    for t in range(T):
        for n in range(N):
            found, gain = target_by_hand(r, ppo.targets, t, n)
            if found is not None:
                target[t, n], advantage[t, n] = found, gain
    if ppo.normalise_advantage:
        advantage = normalised_by_hand(advantage)
    cases, per_step, divergence = set(), [], 0.0
    for place in target:
        log_probs, old = out.parameters[place], r.log_probs[place].item()
        ratio = (log_probs[r.actions[place]] - old).exp()
        objective, case = objective_by_hand(ratio, advantage[place], ppo.clip)
        error, value_case = clipped_value_error_by_hand(
            out.value[place], r.values[place].item(), target[place], ppo.value_clip, ppo.terms.value_loss
        )
        cases |= {case, value_case}
        divergence += ratio.item() - 1.0 - math.log(ratio.item())
        per_step.append((-objective, error, entropy_by_hand(log_probs)))
    return total_by_hand(per_step, ppo.terms), divergence / len(target), cases


def objective_by_hand(ratio: Tensor, advantage: float, clip: float) -> tuple[Tensor, str]:
    """The smaller one of the plain and the clipped objective of a step, equation (7), and what it was."""
    nearest = min(max(ratio.item(), 1.0 - clip), 1.0 + clip)
    sign = "good" if advantage > 0 else "bad"
    if nearest == ratio.item():
        return ratio * advantage, f"{sign} near"
    side = "more likely" if ratio.item() > nearest else "less likely"
    if nearest * advantage < ratio.item() * advantage:
        return torch.tensor(nearest * advantage, dtype=torch.float64), f"{sign} {side}"
    return ratio * advantage, f"{sign} {side}"


def clipped_value_error_by_hand(value: Tensor, old: float, target: float, clip: float, kind: str) -> tuple[Tensor, str]:
    """The larger one of the errors of the value and of the nearest value that it may move to."""
    plain = value_error_by_hand(value, target, kind)
    nearest = min(max(value.item(), old - clip), old + clip)
    if not clip or nearest == value.item():
        return plain, "value near"
    clipped = value_error_by_hand(torch.tensor(nearest, dtype=torch.float64), target, kind)
    return (clipped, "value held") if clipped > plain else (plain, "value free")


@pytest.mark.parametrize("returns", ["gae", "n-step", "monte-carlo"])
@pytest.mark.parametrize("value_clip", [0.0, 0.6])
@pytest.mark.parametrize("value_loss", ["squared", "huber"])
@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize("normalise", [False, True])
def test_the_loss_is_what_the_equations_say(
    returns: str, value_clip: float, value_loss: str, reduction: str, normalise: bool
) -> None:
    policy, rollout = make_policy(), make_rollout()
    terms = Terms(0.02, value_coef=0.4, value_loss=value_loss, reduction=reduction)
    targets = Targets(GAMMA, returns, LAMBDA)
    ppo = PPO(targets, terms, clip=0.3, value_clip=value_clip, normalise_advantage=normalise)
    loss = loss_of(ppo, policy, rollout)
    expected, divergence, cases = loss_by_hand(policy, rollout, ppo)
    assert_same_loss_and_gradient(loss.total, expected, policy)
    assert loss.metrics["ppo/kl"] == pytest.approx(divergence, rel=1e-10)
    assert {f"{sign} {side}" for sign in ("good", "bad") for side in ("more likely", "less likely")} <= cases
    assert {"value held", "value free"} <= cases or not value_clip


@pytest.mark.parametrize("memory", ["lstm", "gru"])
def test_the_loss_is_what_the_equations_say_of_a_policy_with_a_memory(memory: str) -> None:
    policy = make_policy(memory=memory)
    rollout = make_rollout(make_policy(seed=1, memory=memory))
    ppo = PPO(Targets(GAMMA, "gae", LAMBDA), recurrent=True)
    assert_same_loss_and_gradient(loss_of(ppo, policy, rollout).total, loss_by_hand(policy, rollout, ppo)[0], policy)


@pytest.mark.parametrize("memory", ["none", "lstm", "gru"])
@pytest.mark.parametrize("normalise", [False, True])
@pytest.mark.parametrize("value_clip", [0.0, 0.2])
@pytest.mark.parametrize("returns", ["gae", "n-step", "monte-carlo"])
def test_the_first_step_of_ppo_is_a3cs(memory: str, normalise: bool, value_clip: float, returns: str) -> None:
    """As long as the policy is the one that acted, the ratio is one and nothing is clipped."""
    policy = make_policy(memory=memory)
    rollout = make_rollout(policy)
    targets, terms = Targets(0.97, returns, 0.9), Terms(value_loss="huber")
    ppo = PPO(targets, terms, value_clip=value_clip, normalise_advantage=normalise)
    a3c = A3C(targets, terms, normalise_advantage=normalise)
    ppo_loss, a3c_loss = loss_of(ppo, policy, rollout), loss_of(a3c, policy, rollout)
    found, expected = gradient_of(ppo_loss.total, policy), gradient_of(a3c_loss.total, policy)
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-14)
    assert ppo_loss.metrics["ppo/kl"] == pytest.approx(0.0, abs=1e-15)
    assert ppo_loss.metrics["ppo/clipped"] == 0.0
    moved = make_policy(seed=1, memory=memory)
    of_ppo, of_a3c = (gradient_of(loss_of(o, moved, rollout).total, moved) for o in (ppo, a3c))
    assert not torch.allclose(of_ppo, of_a3c, rtol=1e-3)


class Table(torch.nn.Module):
    """Says of [1, M] steps what it was told to, so that gradients can be read off at each of them."""

    def __init__(self, log_probs: list[float], values: list[float]) -> None:
        super().__init__()
        self.actions = Choice(1)
        self.log_probs = torch.nn.Parameter(torch.tensor(log_probs, dtype=torch.float64)[None, :, None])
        self.values = torch.nn.Parameter(torch.tensor(values, dtype=torch.float64)[None])

    def forward(self, observations: Tensor, state: Tensor, first: Tensor) -> Output:
        return Output(self.log_probs, self.values, state)


def steps_of(count: int, **fields: Any) -> Minibatch:
    """A minibatch of single steps, all zero but for the fields given."""
    zero = torch.zeros(1, count, dtype=torch.float64)
    plain = {f.name: zero for f in dataclasses.fields(Minibatch)}
    plain |= {"actions": zero.long(), "first": zero.bool(), "known": ~zero.bool(), "state": torch.zeros(count, 0)}
    return Minibatch(**plain | {name: torch.tensor([value], dtype=torch.float64) for name, value in fields.items()})


def gradients_at_ratios(ratios: list[float], advantage: float, clip: float) -> list[float]:
    """How the loss of each step changes with the log-probability of its action."""
    table = Table([math.log(r) - 0.7 for r in ratios], [0.0] * len(ratios))
    minibatch = steps_of(len(ratios), advantage=[advantage] * len(ratios), log_probs=[-0.7] * len(ratios))
    ppo = PPO(terms=dataclasses.replace(ONLY_POLICY, reduction="sum"), clip=clip, normalise_advantage=False)
    loss = ppo.loss(table, minibatch, 0)  # type: ignore[arg-type]
    return torch.autograd.grad(loss.total, [table.log_probs])[0].flatten().tolist()


@pytest.mark.parametrize("clip", [0.2, 0.05])
@pytest.mark.parametrize("advantage", [1.0, 3.0, -1.0, -3.0])
def test_the_gradient_is_cut_off_only_where_an_action_has_moved_far_enough_the_right_way(
    clip: float, advantage: float
) -> None:
    """A good action is pushed up until 1 + clip, a bad one down until 1 - clip; the way back is always open."""
    ratios = [0.1, 1 - clip - 1e-9, 1 - clip + 1e-9, 1.0, 1 + clip - 1e-9, 1 + clip + 1e-9, 9.0]
    far_enough = [r > 1 + clip if advantage > 0 else r < 1 - clip for r in ratios]
    assert far_enough.count(True) == 2
    expected = [0.0 if far else -advantage * r for far, r in zip(far_enough, ratios, strict=True)]
    assert gradients_at_ratios(ratios, advantage, clip) == pytest.approx(expected, rel=1e-12)


def test_a_value_that_has_moved_far_enough_towards_its_target_is_left_alone() -> None:
    """It was 0, should be 2, and may move by a half; the way back is always open."""
    values = [-3.0, -0.6, -0.4, 0.0, 0.4, 0.6, 3.4, 3.6]
    table = Table([0.0] * len(values), values)
    minibatch = steps_of(len(values), target=[2.0] * len(values))
    ppo = PPO(terms=Terms(entropy=0.0, value_coef=1.0, reduction="sum"), value_clip=0.5)
    loss = ppo.loss(table, minibatch, 0)  # type: ignore[arg-type]
    (gradient,) = torch.autograd.grad(loss.total, [table.values])
    assert gradient.flatten().tolist() == pytest.approx([-5.0, -2.6, -2.4, -2.0, -1.6, 0.0, 0.0, 1.6])


def test_the_share_of_clipped_steps_counts_both_sides() -> None:
    table = Table([math.log(r) for r in (0.7, 0.9, 1.1, 1.3, 1.4)], [0.0] * 5)
    loss = PPO(clip=0.2).loss(table, steps_of(5), 0)  # type: ignore[arg-type]
    assert loss.metrics["ppo/clipped"] == pytest.approx(3 / 5)


@pytest.mark.parametrize("returns", ["gae", "monte-carlo"])
def test_learning_stops_when_the_policy_has_moved_too_far(returns: str) -> None:
    policy, rollout = make_policy(), make_rollout()
    targets = Targets(GAMMA, returns, LAMBDA)
    _, divergence, _ = loss_by_hand(policy, rollout, PPO(targets))
    assert divergence > 0.1
    limits = [divergence * 1.001, divergence * 0.999, divergence / 10]
    assert [loss_of(PPO(targets, max_kl=kl), policy, rollout).stop for kl in limits] == [False, True, True]


def test_without_a_limit_learning_never_stops() -> None:
    policy = make_policy()
    with torch.no_grad():
        policy.actor.weight.mul_(1000.0)
    loss = loss_of(PPO(max_kl=0.0), policy, make_rollout())
    assert loss.metrics["ppo/kl"] > 10.0
    assert not loss.stop


def test_the_policy_that_acted_never_stops() -> None:
    policy = make_policy()
    assert not loss_of(PPO(max_kl=1e-9), policy, make_rollout(policy)).stop


def recognisable() -> Minibatch:
    """All of a rollout, with a memory, where the number of a step is its action."""
    policy = make_policy(memory="lstm", dropout=0.5)
    return dataclasses.replace(whole(make_rollout(policy), Targets()), actions=torch.arange(T * N).view(T, N))


def assert_steps_are_whole(found: Minibatch, everything: Minibatch) -> None:
    """Every field of every step is the one that it had in the rollout."""
    number = found.actions
    for field in dataclasses.fields(Minibatch):
        value, original = getattr(found, field.name), getattr(everything, field.name)
        if field.name == "state":
            assert torch.equal(value, original[number[0] % N])
        else:
            assert torch.equal(value, original.flatten(0, 1)[number]), field.name


@pytest.mark.parametrize("parts", [1, 3, 5, T * N])
def test_every_step_is_visited_once_with_all_that_belongs_to_it(parts: int) -> None:
    everything = recognisable()
    found = list(shuffled_steps(everything, parts, torch.Generator().manual_seed(0)))
    assert sorted(number for m in found for number in m.actions.flatten().tolist()) == list(range(T * N))
    sizes = [m.actions.numel() for m in found]
    assert len(sizes) == parts
    assert max(sizes) - min(sizes) <= 1
    for minibatch in found:
        assert len(minibatch.actions) == 1
        assert_steps_are_whole(minibatch, everything)
    assert [number for m in found for number in m.actions.flatten().tolist()] != list(range(T * N))


@pytest.mark.parametrize("parts", [1, 2, 3, N])
def test_every_sequence_is_visited_once_and_stays_whole(parts: int) -> None:
    everything = recognisable()
    found = list(shuffled_sequences(everything, parts, torch.Generator().manual_seed(1)))
    order = [env for m in found for env in m.actions[0].tolist()]
    assert sorted(order) == list(range(N))
    assert order != list(range(N))
    sizes = [m.actions.shape[1] for m in found]
    assert len(sizes) == parts
    assert max(sizes) - min(sizes) <= 1
    for minibatch in found:
        in_time = minibatch.actions[0] + N * torch.arange(T)[:, None]
        assert torch.equal(minibatch.actions, in_time)
        assert_steps_are_whole(minibatch, everything)


def orders(ppo: PPO, seed: int) -> list[list[int]]:
    """Numbers of the steps in the order in which each epoch visits them."""
    rollout = dataclasses.replace(make_rollout(), actions=torch.arange(T * N).view(T, N))
    found = list(ppo.minibatches(rollout, torch.Generator().manual_seed(seed)))
    assert len(found) == ppo.epochs * ppo.parts
    epochs = [found[i : i + ppo.parts] for i in range(0, len(found), ppo.parts)]
    return [[number for m in epoch for number in m.actions.flatten().tolist()] for epoch in epochs]


@pytest.mark.parametrize("recurrent", [False, True])
def test_every_epoch_has_an_order_of_its_own_that_follows_from_the_seed(recurrent: bool) -> None:
    ppo = PPO(epochs=3, parts=2, recurrent=recurrent)
    found = orders(ppo, seed=2)
    assert all(sorted(order) == list(range(T * N)) for order in found)
    assert len({tuple(order) for order in found}) == 3
    assert orders(ppo, seed=2) == found
    assert orders(ppo, seed=3) != found


@pytest.mark.parametrize("recurrent", [False, True])
def test_a_rollout_in_one_piece_is_passed_over_as_often_as_asked(recurrent: bool) -> None:
    assert orders(PPO(epochs=4, parts=1, recurrent=recurrent), seed=0) == [list(range(T * N))] * 4


@pytest.mark.parametrize("memory", ["none", "lstm", "gru"])
def test_a_policy_with_a_memory_learns_from_whole_sequences_and_others_from_single_steps(memory: str) -> None:
    settings = Settings().update(objective="ppo", memory=memory, minibatches=2, epochs=1)
    ppo = make_objective(settings, 0)
    shapes = [m.actions.shape for m in ppo.minibatches(make_rollout(), torch.Generator())]
    assert shapes == [(1, T * N // 2) if memory == "none" else (T, N // 2)] * 2


@pytest.mark.parametrize("memory", ["none", "lstm", "gru"])
@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_the_parts_of_an_epoch_add_up_to_the_whole(memory: str, dropout: float) -> None:
    """A step that lost its memory, its dropout mask or its advantage on the way would say something else."""
    policy = make_policy(memory=memory, dropout=dropout)
    rollout = acted_by(make_policy(seed=1, memory=memory, dropout=dropout), make_rollout(policy))
    ppo = PPO(terms=Terms(reduction="sum"), epochs=1, parts=3, normalise_advantage=False, recurrent=memory != "none")
    minibatches = ppo.minibatches(rollout, torch.Generator().manual_seed(0))
    total = sum((ppo.loss(policy, m, 0).total for m in minibatches), torch.zeros(()))
    expected = loss_of(dataclasses.replace(ppo, parts=1), policy, rollout).total
    assert_same_loss_and_gradient(total, expected, policy)


def test_every_pass_learns_towards_the_same_targets() -> None:
    """Advantages and targets are those of the values that acting recorded, however the policy has changed since."""
    found = list(PPO(epochs=2).minibatches(make_rollout(), torch.Generator()))
    assert torch.equal(found[0].advantage, found[1].advantage)
    assert torch.equal(found[0].target, found[1].target)


def test_each_worker_has_its_own_clip() -> None:
    settings = Settings().update(objective="ppo", clip=[0.1, 0.3], value_clip=0.4, max_kl=0.02, epochs=5, minibatches=6)
    first, second = (make_objective(settings, rank) for rank in range(2))
    assert isinstance(first, PPO)
    assert (first.clip, first.value_clip, first.max_kl, first.epochs, first.parts) == (0.1, 0.4, 0.02, 5, 6)
    assert isinstance(second, PPO)
    assert second.clip == 0.3


def test_figures_of_what_is_not_finite_are_made_without_a_warning() -> None:
    policy = make_policy()
    rollout = make_rollout(policy)
    endless = dataclasses.replace(rollout, rewards=torch.full_like(rollout.rewards, torch.inf))
    old = dataclasses.replace(rollout, log_probs=torch.full_like(rollout.log_probs, -torch.inf))
    assert not math.isfinite(loss_of(PPO(), policy, endless).metrics["loss/value"])
    assert not math.isfinite(loss_of(PPO(), policy, old).metrics["ppo/kl"])
