"""What an actor records: the counter test that shows any shift, truncation, rewards, episodes."""

from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from torch import Tensor, nn

from hogwild.acting import Actor
from hogwild.config.settings import PolicySettings
from hogwild.envs.gymnasium_batch import GymnasiumBatch
from hogwild.envs.rewards import Rewards
from hogwild.link import Pulled
from hogwild.policies.distributions import Choice
from hogwild.policies.policy import Output, Policy
from hogwild.resolve import layer, resolve
from hogwild.rollout import Rollout
from hogwild.worker import Worker


class Counting(gymnasium.Env[np.ndarray, np.int64]):
    """Shows how many steps its episode has had; ends after `length` of them, by termination or by the clock."""

    def __init__(self, length: int, cut: bool, reward: float = 1.0) -> None:
        self.observation_space = gymnasium.spaces.Box(0, np.inf, (1,), np.float32)
        self.action_space = gymnasium.spaces.Discrete(2)
        self.length, self.cut, self.reward = length, cut, reward
        self.time = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self.time = 0
        return np.array([0.0], dtype=np.float32), {}

    def step(self, action: np.int64) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self.time += 1
        over = self.time == self.length
        return np.array([self.time], np.float32), self.reward, over and not self.cut, over and self.cut, {}


class CountingPolicy(nn.Module):
    """Its memory counts how often it was called since the episode began; its value is what it sees."""

    device = torch.device("cpu")
    actions = Choice(2)

    def initial_state(self, n: int) -> Tensor:
        return torch.zeros(n, 1)

    def renew_dropout(self, state: Tensor, generator: torch.Generator) -> Tensor:
        return state

    def frozen(self) -> torch.no_grad:
        return torch.no_grad()

    def forward(self, observations: Tensor, state: Tensor, first: Tensor) -> Output:
        steps, envs = first.shape
        states = []
        for t in range(steps):
            state = torch.where(first[t][:, None], 0.0, state)
            states.append(state)
            state = state + 1
        self.seen = torch.stack(states)
        return Output(torch.full((steps, envs, 2), 0.5).log(), observations[..., 0] * 10, state)


def counting_actor(lengths: list[int], steps: int, cut: bool, **options: Any) -> tuple[Actor, CountingPolicy]:
    makers = iter(lengths)
    batch = GymnasiumBatch("counting", lambda: Counting(next(makers), cut), len(lengths))
    policy = CountingPolicy()
    actor = Actor(policy, batch, steps, seed=0, **options)  # type: ignore[arg-type]
    actor.reset(list(range(len(lengths))))
    return actor, policy


@pytest.mark.parametrize("cut", [False, True])
def test_memory_observation_and_episode_start_stay_in_step_over_rollout_borders(cut: bool) -> None:
    """The observation counts steps, the memory counts calls: any shift between them shows as an unequal number."""
    actor, policy = counting_actor([1, 2, 3, 7], steps=5, cut=cut)
    for version in range(6):
        rollout = actor.collect(version)
        policy.forward(rollout.observations, rollout.state, rollout.first)
        torch.testing.assert_close(policy.seen[..., 0], rollout.observations[..., 0])
        assert torch.equal(rollout.first, rollout.observations[..., 0] == 0)


def test_a_rollout_begins_where_the_last_one_ended() -> None:
    actor, _ = counting_actor([100], steps=5, cut=False)
    last = actor.collect(0).observations[-1].clone()
    assert torch.equal(actor.collect(0).observations[0], last)


def test_a_cut_episode_is_truncated_with_the_value_of_its_real_last_observation() -> None:
    actor, _ = counting_actor([3], steps=4, cut=True)
    rollout = actor.collect(0)
    assert rollout.truncated[:, 0].tolist() == [False, False, True, False]
    assert not rollout.terminated.any()
    assert rollout.final_value[:, 0].tolist() == [0.0, 0.0, 30.0, 0.0]  # it saw 3; the next episode shows 0
    assert rollout.observations[3].item() == 0.0


def test_a_finished_episode_is_terminated_and_has_no_final_value() -> None:
    actor, _ = counting_actor([3], steps=4, cut=False)
    rollout = actor.collect(0)
    assert rollout.terminated[:, 0].tolist() == [False, False, True, False]
    assert not rollout.truncated.any()
    assert (rollout.final_value == 0).all()


def test_learned_rewards_are_scaled_and_clipped_while_reported_returns_are_raw() -> None:
    batch = GymnasiumBatch("counting", lambda: Counting(4, False, reward=30.0), 1)
    actor = Actor(CountingPolicy(), batch, 8, seed=0, rewards=Rewards(1, scale=0.1, clip=2.0))  # type: ignore[arg-type]
    actor.reset([0])
    rollout = actor.collect(0)
    assert rollout.rewards.unique().tolist() == [2.0]
    assert rollout.episodes == ((120.0, 4), (120.0, 4))


def test_games_that_span_rollouts_are_reported_whole() -> None:
    actor, _ = counting_actor([7], steps=3, cut=False)
    episodes = [episode for _ in range(7) for episode in actor.collect(0).episodes]
    assert episodes == [(7.0, 7)] * 3


class Watching:
    """Keeps all that it sees."""

    def __init__(self) -> None:
        self.there, self.seen = True, []  # type: ignore[var-annotated]

    def is_there(self) -> bool:
        return self.there

    def see(self, **fields: Any) -> None:
        self.seen.append({name: np.array(value) for name, value in fields.items()})


def test_an_onlooker_sees_what_happened_in_the_first_environment() -> None:
    batch = GymnasiumBatch("CartPole-v1", lambda: gymnasium.make("CartPole-v1"), 3)
    policy = Policy(batch.spec, PolicySettings(memory="gru", memory_size=8))
    actor = Actor(policy, batch, 40, seed=0)
    actor.reset([1, 2, 3])
    watching = Watching()
    actor.onlooker = watching
    rollout = actor.collect(0)
    assert len(watching.seen) == 40
    for t, moment in enumerate(watching.seen):
        assert (moment["observation"] == rollout.observations[t, 0].numpy()).all()
        assert moment["action"] == rollout.actions[t, 0]
        assert moment["value"] == pytest.approx(rollout.values[t, 0].item())
        assert moment["probabilities"].sum() == pytest.approx(1.0)
        taken = moment["probabilities"][moment["action"]]
        assert np.log(taken) == pytest.approx(rollout.log_probs[t, 0].item(), abs=1e-5)
        assert moment["over"] == (rollout.terminated[t, 0] | rollout.truncated[t, 0])
    ends = [moment for moment in watching.seen if moment["over"]]
    assert ends, "a game of an untrained agent is shorter than that"
    assert (float(ends[0]["score"]), int(ends[0]["length"])) in rollout.episodes
    assert watching.seen[int(ends[0]["length"])]["length"] == 1, "the next game counts anew"
    watching.there = False
    actor.collect(1)
    assert len(watching.seen) == 40


def test_log_probabilities_are_those_of_the_actions_taken() -> None:
    batch = GymnasiumBatch("CartPole-v1", lambda: gymnasium.make("CartPole-v1"), 3)
    policy = Policy(batch.spec, PolicySettings(memory="gru", memory_size=8))
    actor = Actor(policy, batch, 6, seed=0)
    actor.reset([1, 2, 3])
    rollout: Rollout = actor.collect(0)
    out = policy(rollout.observations, rollout.state, rollout.first)
    expected = out.parameters[:-1].gather(-1, rollout.actions.unsqueeze(-1)).squeeze(-1)
    torch.testing.assert_close(rollout.log_probs, expected.detach())


def remembering_actor(memory: str) -> tuple[Actor, Policy]:
    """Plays CartPole in episodes of at most 4 steps and rollouts of 6, so that there are borders of every kind."""
    batch = GymnasiumBatch("CartPole-v1", lambda: gymnasium.make("CartPole-v1", max_episode_steps=4), 3)
    torch.manual_seed(0)
    policy = Policy(batch.spec, PolicySettings(memory=memory, memory_size=8, dropout=0.3))  # type: ignore[arg-type]
    actor = Actor(policy, batch, 6, seed=0)
    actor.reset([1, 2, 3])
    return actor, policy


@pytest.mark.parametrize("memory", ["none", "lstm", "gru"])
def test_values_are_what_the_policy_says_of_the_observations(memory: str) -> None:
    actor, policy = remembering_actor(memory)
    for version in range(4):
        rollout = actor.collect(version)
        out = policy(rollout.observations, rollout.state, rollout.first)
        assert not rollout.values.requires_grad
        torch.testing.assert_close(rollout.values, out.value.detach())
        if version and memory != "none":  # there is something to remember, and something to forget
            forgetful = policy(rollout.observations, rollout.state, torch.ones_like(rollout.first))
            hoarding = policy(rollout.observations, rollout.state, torch.zeros_like(rollout.first))
            for wrong in (forgetful, hoarding):
                assert not torch.allclose(wrong.value, rollout.values, atol=1e-4)


def test_values_are_those_of_the_weights_that_acted() -> None:
    actor, policy = remembering_actor("gru")
    recorded = actor.collect(0).values.clone()
    with torch.no_grad():
        policy.critic.bias.add_(1.0)
    torch.testing.assert_close(actor.values, recorded, rtol=0, atol=0)
    rollout = actor.collect(1)
    torch.testing.assert_close(
        rollout.values, policy(rollout.observations, rollout.state, rollout.first).value.detach()
    )


@pytest.mark.parametrize("memory", ["lstm", "gru"])
def test_looking_at_what_comes_after_the_rollout_leaves_the_memory_as_it_was(memory: str) -> None:
    actor, policy = remembering_actor(memory)
    for version in range(4):
        rollout = actor.collect(version)
        after = policy(rollout.observations[:-1], rollout.state, rollout.first[:-1]).state.detach()
        torch.testing.assert_close(actor.state, after)
        one_more = policy(rollout.observations, rollout.state, rollout.first).state.detach()
        assert not torch.allclose(actor.state, one_more, atol=1e-4)


@pytest.mark.parametrize("cut", [False, True])
def test_the_last_value_of_a_rollout_is_the_first_of_the_next_as_long_as_the_weights_stay(cut: bool) -> None:
    actor, _ = counting_actor([1, 2, 3, 7], steps=5, cut=cut)
    last = actor.collect(0).values[-1].clone()
    for version in range(1, 6):
        rollout = actor.collect(version)
        assert torch.equal(rollout.values, rollout.observations[..., 0] * 10)
        assert torch.equal(rollout.values[0], last)
        last = rollout.values[-1].clone()


def test_a_rollout_knows_which_weights_played_it() -> None:
    actor, _ = counting_actor([3], steps=4, cut=False)
    assert [[played.version for played in actor.collect(version).played] for version in (0, 5)] == [[0], [5]]


def test_the_seed_decides_the_actions() -> None:
    def actions(seed: int) -> list[int]:
        batch = GymnasiumBatch("CartPole-v1", lambda: gymnasium.make("CartPole-v1"), 2)
        torch.manual_seed(0)
        actor = Actor(Policy(batch.spec, PolicySettings()), batch, 20, seed=seed)
        actor.reset([1, 2])
        return actor.collect(0).actions.flatten().tolist()

    assert actions(0) == actions(0)
    assert actions(0) != actions(1)


def test_draws_that_last_are_carried_over_borders_of_rollouts_and_checkpoints() -> None:
    def new_actor() -> Actor:
        batch = GymnasiumBatch("CartPole-v1", lambda: gymnasium.make("CartPole-v1"), 3)
        torch.manual_seed(0)
        actor = Actor(Policy(batch.spec, PolicySettings()), batch, 4, seed=0)
        actor.persist(0.99)
        actor.reset([1, 2, 3])
        return actor

    actor = new_actor()
    first = actor.collect(0).actions.clone()
    saved = actor.save()
    assert saved is not None
    second = actor.collect(1).actions.clone()
    assert first[-1, 2] == second[0, 2]  # the last environment does what it did before
    other = new_actor()
    other.load(saved)
    assert torch.equal(other.collect(1).actions, second)


def test_persistence_fades_as_scheduled() -> None:
    settings = layer("CartPole-v1", persistence=0.8, persistence_final=0.0, schedule_steps=100, envs=3)
    worker = Worker(resolve(settings).settings, rank=0)
    for step, last in ((0, 0.8), (50, 0.4), (100, 0.0), (200, 0.0)):
        worker.play(Pulled(version=0, step=step, ready=True))
        torch.testing.assert_close(worker.actor.persistence, torch.tensor([0.0, last / 2, last]))
