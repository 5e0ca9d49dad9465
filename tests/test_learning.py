"""Gradients and updates: values, not aliases; clipped as asked; every weight moves."""

from typing import Any

import pytest
import torch
from torch import Tensor

from hogwild.acting import Actor
from hogwild.config.settings import PolicySettings, Settings
from hogwild.envs.ids import plan_env
from hogwild.envs.make import make_batch
from hogwild.learning import GradientComputer, Gradients, Learner
from hogwild.objectives.a3c import A3C
from hogwild.objectives.objective import Loss
from hogwild.objectives.ppo import PPO
from hogwild.optimizers import initial_statistics
from hogwild.policies.flat import FlatLayout
from hogwild.policies.policy import Policy
from hogwild.rollout import Rollout


class Setup:
    def __init__(self, max_norm: float = 0.0, memory: str = "none") -> None:
        settings = Settings(env="CartPole-v1")
        batch = make_batch(plan_env(settings), settings.environment, 3)
        torch.manual_seed(0)
        self.policy = Policy(batch.spec, PolicySettings(memory=memory, memory_size=8))  # type: ignore[arg-type]
        self.layout = FlatLayout(self.policy)
        self.flat = self.layout.bind(self.policy)
        self.actor = Actor(self.policy, batch, 5, seed=1)
        self.actor.reset([1, 2, 3])
        self.computer = GradientComputer(self.policy, self.layout, A3C(), max_norm)

    def compute(self, rollout: Rollout) -> Gradients:
        """Gradients of a whole rollout."""
        (minibatch,) = self.computer.minibatches(rollout)
        gradients = self.computer.compute(minibatch, 0, rollout.steps, rollout.played)
        assert not gradients.stop
        return gradients

    def by_autograd(self, rollout: Rollout) -> dict[str, Tensor]:
        (minibatch,) = A3C().minibatches(rollout, torch.Generator())
        loss = A3C().loss(self.policy, minibatch, 0).total
        names = [n for n, _ in self.policy.named_parameters()]
        return dict(zip(names, torch.autograd.grad(loss, list(self.policy.parameters())), strict=True))


def test_the_flat_gradient_holds_every_parameters_gradient() -> None:
    setup = Setup()
    rollout = setup.actor.collect(0)
    found = dict(setup.layout.views(setup.compute(rollout).flat))
    for name, gradient in setup.by_autograd(rollout).items():
        torch.testing.assert_close(found[name], gradient)


def test_the_same_rollout_gives_the_same_gradient_again_and_again() -> None:
    """The gradient sharing of older A3Cs accumulates (1, 2, 3, 4) or freezes on torch 2; ours does neither."""
    setup = Setup()
    rollout = setup.actor.collect(0)
    first = setup.compute(rollout).flat.clone()
    for _ in range(3):
        torch.testing.assert_close(setup.compute(rollout).flat, first, rtol=0, atol=0)


def test_another_rollout_gives_another_gradient() -> None:
    setup = Setup()
    first = setup.compute(setup.actor.collect(0)).flat.clone()
    second = setup.compute(setup.actor.collect(0)).flat
    assert not torch.equal(first, second)


def test_gradients_say_how_many_steps_and_which_weights_they_come_from() -> None:
    setup = Setup()
    rollout = setup.actor.collect(7)
    gradients = setup.compute(rollout)
    assert gradients.steps == rollout.steps == 15
    assert [played.version for played in gradients.played] == [7]


def test_the_parts_of_a_rollout_give_the_mean_of_their_gradients() -> None:
    setup = Setup(memory="gru")
    rollout = setup.actor.collect(0)
    whole = setup.compute(rollout).flat.clone()
    parts = GradientComputer(setup.policy, setup.layout, A3C(parts=3), 0.0)
    found = []
    for minibatch in parts.minibatches(rollout):
        gradients = parts.compute(minibatch, 0, 5, rollout.played)
        assert gradients is not None
        found.append(gradients.flat.clone())
    torch.testing.assert_close(torch.stack(found).mean(0), whole)
    assert not torch.allclose(found[0], found[1])


def test_gradients_say_where_the_objective_asks_to_stop() -> None:
    """The policy has not moved in the first pass; after an update it has."""
    setup = Setup()
    computer = GradientComputer(setup.policy, setup.layout, PPO(max_kl=1e-4, epochs=2), 0.0)
    rollout = setup.actor.collect(0)
    first, second = computer.minibatches(rollout)
    gradients = computer.compute(first, 0, rollout.steps, rollout.played)
    assert gradients is not None
    setup.flat.sub_(gradients.flat)
    assert computer.compute(second, 0, rollout.steps, rollout.played).stop


def test_the_seed_decides_the_order_in_which_steps_are_learned_from() -> None:
    setup = Setup()
    rollout = setup.actor.collect(0)

    def order(seed: int) -> list[list[float]]:
        computer = GradientComputer(setup.policy, setup.layout, PPO(parts=3, epochs=2), 0.0, seed)
        return [minibatch.observations.flatten().tolist() for minibatch in computer.minibatches(rollout)]

    assert order(0) == order(0)
    assert order(0) != order(1)


def test_no_parameter_ever_holds_a_gradient() -> None:
    setup = Setup()
    setup.compute(setup.actor.collect(0))
    assert all(p.grad is None for p in setup.policy.parameters())


def test_a_constant_gradient_is_applied_as_it_is_every_time() -> None:
    """With plain RMSProp statistics frozen at one, every update must move the weights by the same amount."""
    settings = Settings().update(optimizer="rmsprop-tf", rms_decay=1.0, epsilon=1e-12, learning_rate=0.5)
    weights = torch.zeros(4)
    learner = Learner(settings, 0, weights, initial_statistics("rmsprop-tf", 4))
    positions = []
    for count in range(1, 5):
        learner.apply(torch.ones(4), count, step=0)
        positions.append(weights[0].item())
    assert positions == pytest.approx([-0.5, -1.0, -1.5, -2.0])


@pytest.mark.parametrize("memory", ["none", "lstm", "gru"])
def test_one_update_moves_every_weight(memory: str) -> None:
    setup = Setup(memory=memory)
    before = {n: v.clone() for n, v in setup.layout.views(setup.flat)}
    learner = Learner(Settings(), 0, setup.flat, initial_statistics("adam", len(setup.flat)))
    for count in range(1, 3):  # the memory's first state is zero, so its recurrent weights move with the second
        learner.apply(setup.compute(setup.actor.collect(0)).flat, count, 0)
    for name, value in setup.layout.views(setup.flat):
        assert (value != before[name]).all(), name


def test_gradients_are_clipped_by_their_global_norm() -> None:
    free, clipped = Setup(), Setup(max_norm=0.1)
    rollout = free.actor.collect(0)
    whole = free.compute(rollout)
    limited = clipped.compute(rollout)
    assert whole.metrics["gradient/norm"] > 0.1
    assert limited.metrics["gradient/norm"] == pytest.approx(whole.metrics["gradient/norm"], rel=1e-5)
    assert limited.metrics["gradient/clipped"] == 1.0
    assert limited.flat.norm().item() == pytest.approx(0.1, rel=1e-4)
    torch.testing.assert_close(limited.flat / limited.flat.norm(), whole.flat / whole.flat.norm())


def test_the_learning_rate_follows_the_steps_of_all_environments() -> None:
    settings = Settings().update(learning_rate=0.1, learning_rate_final=0.5, schedule_steps=1000)
    learner = Learner(settings, 0, torch.zeros(1), initial_statistics("adam", 1))
    assert [learner.learning_rate(step) for step in (0, 500, 1000, 9999)] == pytest.approx([0.1, 0.075, 0.05, 0.05])


def test_a_gradient_that_is_no_number_says_so_and_is_nothing() -> None:
    setup = Setup()
    rollout = setup.actor.collect(0)
    rollout.rewards[0, 0] = float("nan")
    gradients = setup.compute(rollout)
    assert not gradients.is_finite
    assert gradients.steps == rollout.steps
    assert not gradients.flat.any()


def test_what_is_frozen_or_unused_is_left_as_it_is() -> None:
    setup = Setup()
    frozen, unused = setup.policy.actor.bias, setup.policy.critic.weight
    frozen.requires_grad_(False)

    class OnlyActor(A3C):
        def loss(self, policy: Policy, minibatch: Any, step: int) -> Loss:
            out = policy(minibatch.observations, minibatch.state, minibatch.first)
            return Loss(out.parameters.square().sum(), {})

    computer = GradientComputer(setup.policy, setup.layout, OnlyActor(), 0.0)
    rollout = setup.actor.collect(0)
    (minibatch,) = computer.minibatches(rollout)
    found = dict(setup.layout.views(computer.compute(minibatch, 0, rollout.steps, rollout.played).flat))
    assert not found["actor.bias"].any()
    assert not found["critic.weight"].any()
    assert found["actor.weight"].any()
    assert unused.grad is None
