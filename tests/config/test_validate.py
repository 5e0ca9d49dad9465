"""Settings that make no sense are refused with what would, all of them at once."""

from typing import Any

import pytest

from hogwild.config.settings import Settings
from hogwild.errors import UsageError
from hogwild.policies.spec import ActionPart, PolicySpec, choice
from hogwild.resolve import layer, layers, resolve
from hogwild.validate import problems

VECTORS = PolicySpec((4,), "float32", choice(2))
PICTURES = PolicySpec((4, 84, 84), "uint8", choice(6))


def test_the_plain_defaults_make_sense() -> None:
    assert problems(Settings()) == []
    assert problems(Settings(), VECTORS) == []
    assert problems(Settings(), PICTURES) == []


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"envs": 0}, "--envs 0: must be at least 1."),
        ({"envs": (4, 0)}, "--envs 0: must be at least 1."),
        ({"rollout_steps": -3}, "--rollout-steps -3: must be at least 1."),
        ({"frame_skip": 0}, "--frame-skip 0: must be at least 1."),
        ({"frame_limit": 0}, "--frame-limit 0: must be at least 1."),
        ({"keep_checkpoints": 0}, "--keep-checkpoints 0: must be at least 1."),
        ({"discount": 1.5}, "--discount 1.5: must be between 0 and 1."),
        ({"discount": (0.9, -0.1)}, "--discount -0.1: must be between 0 and 1."),
        ({"discount": float("nan")}, "--discount nan: must be between 0 and 1."),
        ({"gae_lambda": 2}, "--gae-lambda 2: must be between 0 and 1."),
        ({"learning_rate": 0}, "--learning-rate 0: must be greater than 0."),
        ({"learning_rate": float("inf")}, "--learning-rate inf: must be greater than 0."),
        ({"epsilon": -1e-5}, "--epsilon -1e-05: must be greater than 0."),
        ({"checkpoint_seconds": 0}, "--checkpoint-seconds 0: must be greater than 0."),
        ({"entropy": -0.01}, "--entropy -0.01: must not be negative."),
        ({"max_grad_norm": -1}, "--max-grad-norm -1: must not be negative."),
        ({"steps": -1}, "--steps -1: must not be negative."),
        ({"workers": -1}, "--workers -1: must not be negative."),
        ({"seed": -1}, "--seed -1: must not be negative."),
        ({"sticky": 1.0}, "--sticky 1: must be at least 0 and less than 1."),
        ({"dropout": 1.0}, "--dropout 1: must be at least 0 and less than 1."),
    ],
)
def test_a_value_out_of_range_is_refused_with_the_range(changes: dict[str, Any], complaint: str) -> None:
    assert problems(Settings().update(**changes)) == [complaint]


@pytest.mark.parametrize("name", ["beta1", "beta2"])
def test_a_decay_of_one_is_refused_for_adam(name: str) -> None:
    """Its mean would never move, and torch raises a ValueError in the middle of the start."""
    (complaint,) = problems(Settings().update(**{name: 1.0}))
    assert complaint.startswith(f"--{name} 1:")


@pytest.mark.parametrize(
    "changes",
    [
        {"discount": (0, 1)},
        {"entropy": 0, "max_grad_norm": 0},
        {"sticky": 0, "dropout": 0},
        {"frame_skip": None, "sticky": None},
        {"steps": 0, "minutes": 0},
    ],
)
def test_the_ends_of_a_range_are_inside(changes: dict[str, Any]) -> None:
    assert problems(Settings().update(**changes)) == []


@pytest.mark.parametrize("final", ["learning_rate_final", "entropy_final"])
def test_a_schedule_needs_an_end(final: str) -> None:
    settings = Settings().update(**{final: 0.0})
    assert problems(settings) == ["A schedule needs an end: give --schedule-steps or --steps."]
    assert problems(settings.update(schedule_steps=1000)) == []
    assert problems(settings.update(steps=1000)) == []
    assert problems(Settings().update(settle=0.1)) == problems(settings)


def test_monte_carlo_returns_cannot_be_normalised_over_a_rollout() -> None:
    (complaint,) = problems(Settings().update(returns="monte-carlo", normalise_advantage=True))
    assert "--normalise-advantage" in complaint


@pytest.mark.parametrize("name", [".", "..", "a/b", "../a", "a\\b", "a\0b"])
def test_a_run_name_is_the_name_of_one_folder(name: str) -> None:
    (complaint,) = problems(Settings().update(name=name))
    assert complaint.startswith("--name")


@pytest.mark.parametrize(
    ("changes", "spec", "complaint"),
    [
        ({"encoder": "mlp"}, PICTURES, "--encoder mlp: observations are pictures"),
        ({"encoder": "nature"}, VECTORS, "--encoder nature: observations are vectors; take mlp."),
        (
            {"encoder": "nature"},
            PolicySpec((1, 20, 20), "uint8", choice(2)),
            "--encoder nature: pictures of (20, 20) are too",
        ),
        (
            {"encoder": "a3c"},
            PolicySpec((1, 16, 16), "uint8", choice(2)),
            "--encoder a3c: pictures of (16, 16) are too small",
        ),
        ({"squash": True}, VECTORS, "--squash: only for actions that are numbers"),
        (
            {"squash": True, "action_bounds": "clip"},
            PolicySpec((4,), "float32", (ActionPart("numbers", 2),)),
            "--squash: needs --action-bounds rescale",
        ),
    ],
)
def test_what_does_not_fit_the_observations_is_refused(
    changes: dict[str, Any], spec: PolicySpec, complaint: str
) -> None:
    (found,) = problems(Settings().update(**changes), spec)
    assert found.startswith(complaint)


@pytest.mark.parametrize("kind", ["a3c", "compact", "nature", "universe", "a3g"])
def test_every_encoder_for_pictures_takes_pictures(kind: str) -> None:
    assert problems(Settings().update(encoder=kind), PICTURES) == []


@pytest.mark.fault(73)
def test_several_complaints_come_at_once() -> None:
    wrong = Settings().update(discount=1.5, entropy=(-1, 0.1, -2), learning_rate_final=0.5, name="a/b")
    assert len(problems(wrong)) == 5
    with pytest.raises(UsageError) as caught:
        resolve(layer("CartPole-v1", discount=1.5, workers=-2, minutes=1, learning_rate_final=0.5))
    lines = str(caught.value).splitlines()
    assert [line.split()[0] for line in lines] == ["--discount", "--workers", "A"]


def test_what_does_not_fit_the_environment_comes_at_once_too() -> None:
    with pytest.raises(UsageError) as caught:
        resolve(layer("CartPole-v1", encoder="a3c", squash=True))
    assert [line.split()[0] for line in str(caught.value).splitlines()] == ["--encoder", "--squash:"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"sticky": 0.25, "frame_skip": 4}, "--frame-skip, --sticky: only for Atari games, and 'CartPole-v1' is none."),
        ({"preprocess": "universe"}, "--preprocess: only for Atari games"),
        ({"protocol": "a3c-2016"}, "--protocol: only for Atari games"),
    ],
)
def test_rules_of_atari_are_refused_elsewhere(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError) as caught:
        layer("CartPole-v1", **changes)
    assert words in str(caught.value)


def test_a_doubled_frame_skip_is_refused() -> None:
    with pytest.raises(UsageError, match="doubled frame-skip"):
        resolve(layer("PongDeterministic-v4", frame_skip=3))


@pytest.mark.parametrize(("env", "family"), [("Pendulum-v1", "control"), ("FrozenLake-v1", "vectors")])
def test_every_kind_of_space_has_defaults(env: str, family: str) -> None:
    assert f"the defaults for {family}" in layers(env)
    resolve(layer(env))
