"""`hogwild train --seeds`: one command, several runs."""

import json
import shlex
from collections.abc import Callable
from pathlib import Path

from running import Ended

from hogwild.api import Run

FEW = [*shlex.split("--engine inline --workers 1 --envs 2 --rollout-steps 16 --steps 300")]


def test_every_seed_gets_a_run_of_its_own_and_the_next_command_is_named(
    here: Callable[..., Ended], tmp_path: Path
) -> None:
    flags = [*FEW, "--runs", str(tmp_path), "--name", "cart", "--seed", "4", "--seeds", "2"]
    ended = here("train", "CartPole-v1", *flags)
    assert ended.code == 0, ended.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cart-seed4", "cart-seed5"]
    assert [Run(f"cart-seed{seed}", str(tmp_path)).settings.execution.seed for seed in (4, 5)] == [4, 5]
    command = ended.out.splitlines()[-1].split(maxsplit=1)[1]
    assert command == f"hogwild compare 'cart-seed*' --runs {tmp_path}"
    compared = here(*shlex.split(command)[1:], "--json")
    assert compared.code == 0, compared.err
    weights = [Run(f"cart-seed{seed}", str(tmp_path)).load().policy.critic.weight for seed in (4, 5)]
    assert not weights[0].equal(weights[1])


def test_no_run_is_overwritten_unasked(here: Callable[..., Ended], tmp_path: Path) -> None:
    flags = [*FEW, "--runs", str(tmp_path), "--name", "cart"]
    assert here("train", "CartPole-v1", *flags, "--seeds", "2", "--json").code == 0
    before = (tmp_path / "cart-seed1" / "meta.json").read_bytes()
    ended = here("train", "CartPole-v1", *flags, "--seeds", "3")
    assert ended.code == 2
    assert "cart-seed0' exists" in ended.err
    assert not (tmp_path / "cart-seed2").exists()
    assert (tmp_path / "cart-seed1" / "meta.json").read_bytes() == before
    ended = here("train", "CartPole-v1", *flags, "--seeds", "2", "--overwrite", "--json")
    assert [outcome["steps"] >= 300 for outcome in json.loads(ended.out)] == [True, True]


def test_no_seeds_at_all_are_refused(here: Callable[..., Ended], tmp_path: Path) -> None:
    ended = here("train", "CartPole-v1", *FEW, "--runs", str(tmp_path), "--seeds", "0")
    assert ended.code == 2
    assert "--seeds 0: must be at least 1." in ended.err
