"""The commands, on a tiny run: what they print, what they leave, and how they end."""

import contextlib
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import psutil
import pytest
from running import COMMAND, Ended, Started, wait_until

from hogwild.config.settings import Settings
from hogwild.display import Silent
from hogwild.resolve import layer, read_file
from hogwild.runs.checkpoint import list_checkpoints, newest_checkpoint
from hogwild.runs.folder import RunFolder
from hogwild.training import start_training

FEW = shlex.split("--engine inline --workers 1 --envs 2 --rollout-steps 16")


def strict(text: str) -> Any:
    """JSON as the standard has it, which knows no NaN."""

    def refuse(constant: str) -> NoReturn:
        raise AssertionError(f"{constant} is no JSON: {text}")

    return json.loads(text, parse_constant=refuse)


def test_a_dry_run_starts_nothing_and_prints_protocol_and_settings(
    here: Callable[..., Ended], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    children = psutil.Process().children(recursive=True)
    ended = here("train", "pong", "--dry-run", "--sticky", "0.25", "--entropy", "0.02", "0.03")
    assert ended.code == 0
    assert "protocol     a3c-2016*: skip 4, sticky 0.25" in ended.out
    assert all(f"[{group}]" in ended.out for group in ("environment", "policy", "objective", "optimizer", "run"))
    lines = {line.split(" = ")[0].strip(): line for line in ended.out.splitlines() if " = " in line}
    assert lines["entropy"].split() == ["entropy", "=", "0.02", "0.03", "#", "flag"]
    assert lines["envs"].endswith("# the defaults for atari")
    assert lines["rollout_steps"].endswith("# the defaults for atari-ppo")
    assert "#" not in lines["discount"]
    assert "  gae_lambda = " in ended.out
    assert list(tmp_path.iterdir()) == []
    assert psutil.Process().children(recursive=True) == children


def test_help_shows_the_defaults_of_the_environment_that_is_named(here: Callable[..., Ended]) -> None:
    shown = [" ".join(here("train", *env, "--help").out.split()) for env in ([], ["pong"], ["CartPole-v1"])]
    rates = [text.split("Step size at the start. (default:")[1].split(")")[0].strip() for text in shown]
    assert rates == ["0.0007", "0.001", "0.003"]
    assert all("ENV" in text for text in shown)


@pytest.mark.parametrize(
    "wrong", [["pnog"], ["pong", "--preset", "nope"], ["pong", "--config", "gone.toml"], ["--speed"]]
)
def test_help_is_there_also_for_who_gets_the_rest_wrong(wrong: list[str], here: Callable[..., Ended]) -> None:
    ended = here("train", *wrong, "--help")
    assert ended.code == 0
    assert "--learning-rate" in ended.out


@pytest.mark.parametrize(
    ("written", "meant"), [("1e5", 100_000), ("250k", 250_000), ("4.1M", 4_100_000), ("1_000", 1_000)]
)
def test_large_numbers_can_be_written_short(written: str, meant: int, here: Callable[..., Ended]) -> None:
    assert strict(here("train", "CartPole-v1", "--steps", written, "--dry-run", "--json").out)["steps"] == meant


@pytest.mark.parametrize("written", ["many", "1.5", "inf", "1e999", "k"])
def test_what_is_no_whole_number_is_refused(written: str, here: Callable[..., Ended]) -> None:
    ended = here("train", "CartPole-v1", "--steps", written)
    assert ended.code == 2
    assert f"'{written}' is not a whole number" in ended.out + ended.err
    assert "Traceback" not in ended.out + ended.err


def test_values_for_workers_that_there_are_not_are_pointed_out(here: Callable[..., Ended], tmp_path: Path) -> None:
    ended = here("train", "CartPole-v1", *FEW, "--entropy", "0.01", "0.02", "--steps", "32", "--runs", str(tmp_path))
    assert ended.code == 0
    assert "--entropy: 2 values for 1 worker; the last is not used." in ended.err


def test_a_dry_run_prints_all_settings_as_json_too(here: Callable[..., Ended]) -> None:
    printed = strict(here("train", "CartPole-v1", "--dry-run", "--json", "--steps", "77").out)
    assert printed.keys() == Settings().flat().keys()
    assert (printed["env"], printed["steps"], printed["until_return"]) == ("CartPole-v1", 77, None)


def test_training_prints_plain_lines_where_there_is_no_terminal(made: tuple[Path, Ended]) -> None:
    path, ended = made
    assert ended.err == ""
    assert "\x1b" not in ended.out
    first = [line.split()[0] for line in ended.out.splitlines()]
    assert first[:6] == ["environment", "method", "policy", "workers", "stops", "run"]
    assert "limit of 2,600 steps reached" in ended.out
    assert f"hogwild eval {path}" in ended.out


def test_training_leaves_everything_that_a_run_needs(made: tuple[Path, Ended]) -> None:
    folder = RunFolder(made[0])
    files = (folder.config, folder.meta, folder.status, folder.metrics, folder.episodes, folder.log)
    assert all(file.stat().st_size > 0 for file in files)
    assert [p.name for p in list_checkpoints(folder.checkpoints)] == ["step-000000002688"]
    assert json.loads(folder.status.read_text())["state"] == "finished"
    meta = json.loads(folder.meta.read_text())
    assert meta["command"].endswith(f"--runs {made[0].parent}")
    assert meta["versions"].keys() >= {"hogwild", "python", "torch", "numpy", "gymnasium"}


def test_quiet_training_prints_nothing(here: Callable[..., Ended], tmp_path: Path) -> None:
    ended = here("train", "CartPole-v1", "--steps", "64", "--quiet", "--name", "a", "--runs", str(tmp_path), *FEW)
    assert ended == Ended(0, "", "")
    assert (tmp_path / "a" / "config.toml").exists()


def test_training_prints_its_outcome_as_json(here: Callable[..., Ended], tmp_path: Path) -> None:
    ended = here("train", "CartPole-v1", "--steps", "256", "--json", "--name", "a", "--runs", str(tmp_path), *FEW)
    outcome = strict(ended.out)
    assert outcome["folder"] == str(tmp_path / "a")
    assert (outcome["steps"], outcome["signal"]) == (256, 0)
    assert outcome["return_mean"] > 0
    assert outcome["checkpoint"].endswith("step-000000000256")


def test_the_outcome_is_json_even_if_no_game_has_ended(here: Callable[..., Ended], tmp_path: Path) -> None:
    ended = here("train", "Acrobot-v1", "--steps", "32", "--json", "--name", "a", "--runs", str(tmp_path), *FEW)
    assert strict(ended.out)["return_mean"] is None


def test_evaluation_prints_figures_and_a_last_line_of_json(here: Callable[..., Ended], tiny: Path) -> None:
    ended = here("eval", str(tiny), "--episodes", "5", "--seed", "3")
    *lines, last = ended.out.splitlines()
    figures = strict(last)
    assert (figures["episodes"], figures["steps"], figures["checkpoint"]) == (5, 2688, "step-000000002688")
    assert figures["worst"] <= figures["median"] <= figures["best"]
    assert lines[0] == f"{tiny} at step 2,688 (step-000000002688)"
    assert lines[1].startswith(f"return {figures['mean']:.2f} ± {figures['interval_95']:.2f} (95 %)")
    assert "5 whole games, sampled" in lines[1]


def test_evaluation_as_json_is_one_line_and_repeats_with_its_seed(here: Callable[..., Ended], tiny: Path) -> None:
    runs = ["--runs", str(tiny.parent)]
    first, again, other = (here("eval", "tiny", "--episodes", "4", "--seed", s, "--json", *runs).out for s in "778")
    assert len(first.splitlines()) == 1
    assert strict(first) == strict(again)
    assert strict(first)["mean"] != strict(other)["mean"]


@pytest.mark.parametrize(
    ("flags", "how"), [(["--greedy"], "greedy"), (["--epsilon", "0.25"], "greedy, 0.25 random"), ([], "sampled")]
)
def test_evaluation_says_how_actions_were_chosen(
    here: Callable[..., Ended], tiny: Path, flags: list[str], how: str
) -> None:
    assert strict(here("eval", str(tiny), "--episodes", "2", "--json", *flags).out)["actions"] == how


def test_the_evaluation_of_a_single_game_is_json_too(here: Callable[..., Ended], tiny: Path) -> None:
    assert strict(here("eval", str(tiny), "--episodes", "1", "--json").out)["interval_95"] is None


@pytest.mark.parametrize("checkpoint", ["newest", "best", "2688"])
def test_a_checkpoint_is_chosen_by_word_or_step(here: Callable[..., Ended], tiny: Path, checkpoint: str) -> None:
    ended = here("eval", str(tiny), "--episodes", "2", "--checkpoint", checkpoint, "--json")
    assert strict(ended.out)["steps"] == 2688


def test_an_evaluation_that_falls_back_to_an_older_checkpoint_says_so(here: Callable[..., Ended], tiny: Path) -> None:
    newer = tiny / "checkpoints" / "step-000000009999"
    newer.mkdir()
    (newer / "manifest.json").write_text("{}")
    ended = here("eval", str(tiny), "--episodes", "2")
    assert ended.code == 0
    assert "step-000000009999" in ended.out + ended.err


@pytest.fixture
def several(tmp_path: Path) -> Path:
    """Four runs, as far as a table looks at them."""
    rows = {
        "pong-a": ("pong", "finished", 300, 1.5),
        "pong-b": ("pong", "failed", 100, None),
        "cart": ("CartPole-v1", "finished", 200, 9.0),
        "pongdeterministic-v4-seed0-20261116-005631": ("PongDeterministic-v4", "interrupted", 10_000_000, -20.5),
    }
    for index, (name, (env, state, steps, mean)) in enumerate(rows.items()):
        folder = RunFolder(tmp_path / name)
        folder.create()
        folder.write_settings(Settings().update(env=env))
        folder.write_meta({"created": f"2026-01-0{index + 1}"})
        figures = {"steps": steps, "seconds": 60.0, "return_mean": mean, "return_best": mean}
        folder.write_status({"state": state, "env": env} | figures)
    return tmp_path


def listed(here: Callable[..., Ended], runs: Path, *flags: str) -> list[str]:
    return [row["name"][:6] for row in strict(here("runs", "--runs", str(runs), "--json", *flags).out)]


@pytest.mark.parametrize(
    ("flags", "names"),
    [
        ([], ["pong-a", "pong-b", "cart", "pongde"]),
        (["--filter", "PONG-"], ["pong-a", "pong-b"]),
        (["--filter", "cartpole"], ["cart"]),
        (["--filter", "finished"], ["pong-a", "cart"]),
        (["--filter", "nothing"], []),
        (["--sort", "steps"], ["pong-b", "cart", "pong-a", "pongde"]),
        (["--sort=-steps"], ["pongde", "pong-a", "cart", "pong-b"]),
        (["--sort=-return_mean"], ["cart", "pong-a", "pongde", "pong-b"]),
        (["--sort", "return_mean"], ["pongde", "pong-a", "cart", "pong-b"]),
        (["--filter", "finished", "--sort=-created"], ["cart", "pong-a"]),
    ],
)
def test_runs_are_filtered_and_sorted(
    here: Callable[..., Ended], several: Path, flags: list[str], names: list[str]
) -> None:
    assert listed(here, several, *flags) == names


def test_the_table_of_runs_is_whole_even_in_a_pipe(
    here: Callable[..., Ended], several: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    lines = here("runs", "--runs", str(several)).out.splitlines()
    assert len(lines) == 5
    assert lines[0].split()[:4] == ["name", "env", "state", "steps"]
    assert lines[4].split() == [
        "pongdeterministic-v4-seed0-20261116-005631",
        "PongDeterministic-v4",
        "interrupted",
        "10,000,000",
        "1.0",
        "-20.50",
        "-20.5",
    ]


@pytest.mark.parametrize("flags", [[], ["--filter", "x"]])
def test_an_empty_list_says_so(here: Callable[..., Ended], tmp_path: Path, flags: list[str]) -> None:
    ended = here("runs", "--runs", str(tmp_path / "none"), *flags)
    assert ended.code == 0
    assert "No runs" in ended.out


def test_show_tells_how_a_run_was_made_and_where_it_stands(here: Callable[..., Ended], tiny: Path) -> None:
    out = here("show", "tiny", "--runs", str(tiny.parent)).out
    for words in (
        "(finished)",
        "ended        limit of 2,600 steps reached",
        "hogwild train CartPole-v1",
        "steps        2,688",
        "steps=2600",
        "engine=inline",
    ):
        assert words in out.replace("__main__.py", "hogwild"), words
    assert "step-000000002688 (best)" in out
    assert "policy/entropy" in out
    assert "nats" in out


@pytest.mark.parametrize("state", ["failed", "training"])
def test_show_and_doctor_say_why_a_run_came_to_nothing(here: Callable[..., Ended], tiny: Path, state: str) -> None:
    words = {"failed": "The disk is full.", "training": ""}[state]
    RunFolder(tiny).write_status(json.loads((tiny / "status.json").read_text()) | {"state": state, "reason": words})
    why = words or "its process ended without a word"
    assert f"ended        {why}" in here("show", str(tiny)).out
    assert f"{'failed' if words else 'died'}: {why}" in here("doctor", str(tiny)).out


def test_show_prints_everything_as_json(here: Callable[..., Ended], tiny: Path) -> None:
    content = strict(here("show", str(tiny), "--json").out)
    assert content["summary"]["state"] == "finished"
    assert content["settings"]["steps"] == 2600
    assert content["metrics"]["progress/steps"] == 2688
    assert content["checkpoints"] == [content["best_checkpoint"]] == ["step-000000002688"]
    assert content["meta"]["environment"]["id"] == "CartPole-v1"


def test_the_command_of_a_run_can_be_typed_again(made: tuple[Path, Ended]) -> None:
    meta = json.loads((made[0] / "meta.json").read_text())
    assert meta["command"].startswith("hogwild train CartPole-v1 ")


@pytest.mark.fault(64)
def test_resuming_a_finished_run_says_so(here: Callable[..., Ended], tiny: Path) -> None:
    ended = here("resume", str(tiny))
    assert ended.code == 0
    assert ended.out == "Run 'tiny' has finished its 2,600 steps; give --steps for more.\n"
    assert ended.err == ""


def change_status(run: Path, **changes: Any) -> None:
    status = json.loads((run / "status.json").read_text())
    (run / "status.json").write_text(json.dumps(status | changes))


def test_resuming_a_run_whose_time_is_over_says_so_at_once(here: Callable[..., Ended], tiny: Path) -> None:
    config = (tiny / "config.toml").read_text()
    (tiny / "config.toml").write_text(
        config.replace("minutes = 0.0", "minutes = 2.0").replace("steps = 2600", "steps = 0")
    )
    change_status(tiny, seconds=121.0)
    ended = here("resume", str(tiny))
    assert (ended.code, ended.out) == (0, "Run 'tiny' has had its 2 minutes; give a larger --minutes, for all of it.\n")
    ended = here("resume", str(tiny), "--minutes", "1")
    assert ended.code == 2
    assert "has already taken 2.0 minutes; --minutes is for all of it, 0 for no limit." in ended.err
    assert "minutes = 2.0" in (tiny / "config.toml").read_text()


@pytest.mark.parametrize(("episodes", "solved"), [(100, True), (99, False)])
def test_a_run_is_solved_only_after_a_hundred_games(
    here: Callable[..., Ended], tiny: Path, episodes: int, solved: bool
) -> None:
    config = (tiny / "config.toml").read_text()
    (tiny / "config.toml").write_text(config.replace("steps = 2600", "steps = 3300\nuntil_return = 5.0"))
    change_status(tiny, return_mean=20.0, episodes=episodes)
    ended = here("resume", str(tiny), "--json")
    assert json.loads(ended.out)["reason"].startswith("is solved") is solved


def test_resuming_with_more_steps_goes_on(here: Callable[..., Ended], tiny: Path) -> None:
    before = (tiny / "episodes.csv").read_text()
    ended = here("resume", "tiny", "--steps", "3000", "--runs", str(tiny.parent))
    assert ended.code == 0
    assert "resumed at step 2,688" in ended.out
    _, checkpoint, _ = newest_checkpoint(tiny / "checkpoints")
    assert checkpoint.state["progress"]["steps"] == 3072
    assert read_file(tiny / "config.toml")["steps"] == 3000
    assert (tiny / "episodes.csv").read_text().startswith(before)
    assert json.loads((tiny / "status.json").read_text())["steps"] == 3072


def test_resuming_prints_its_outcome_as_json(here: Callable[..., Ended], tiny: Path) -> None:
    assert strict(here("resume", str(tiny), "--steps", "2700", "--json").out)["steps"] == 2816


def test_resuming_with_fewer_steps_than_there_are_is_refused(here: Callable[..., Ended], tiny: Path) -> None:
    ended = here("resume", str(tiny), "--steps", "1000")
    assert ended.code == 2
    assert "already has 2,688 steps" in ended.err


def test_overwriting_starts_anew(here: Callable[..., Ended], tiny: Path) -> None:
    words = ["train", "CartPole-v1", "--steps", "64", "--name", "tiny", "--runs", str(tiny.parent), "--overwrite"]
    assert here(*words, *FEW).code == 0
    assert [p.name for p in list_checkpoints(tiny / "checkpoints")] == ["step-000000000064"]


def test_help_and_version_are_there(here: Callable[..., Ended]) -> None:
    assert here("--help").out.startswith("usage: hogwild COMMAND")
    assert here("--version").out.startswith("hogwild 0.")
    assert here().code == 2
    assert here("train", "--help").code == 0


def test_help_is_there_in_half_a_second(tmp_path: Path) -> None:
    taken = []
    for _ in range(5):
        began = time.monotonic()
        subprocess.run([*COMMAND, "--help"], check=True, capture_output=True, cwd=tmp_path)
        taken.append(time.monotonic() - began)
    assert min(taken) < 0.5


LOADS_TORCH = """
import sys
from hogwild.cli.main import run
assert run({arguments}) == {code}
sys.exit("torch was loaded" if "torch" in sys.modules else 0)
"""


@pytest.mark.parametrize(
    ("arguments", "code"),
    [("--help", 0), ("runs", 0), ("show", 0), ("train CartPole-v1 --dry-run", 0)],
)
def test_what_does_not_train_does_not_wait_for_torch(
    made: tuple[Path, Ended], tmp_path: Path, arguments: str, code: int
) -> None:
    words = arguments.split()
    if words[0] in ("runs", "show"):
        words += [*(["tiny"] if words[0] == "show" else []), "--runs", str(made[0].parent)]
    script = LOADS_TORCH.format(arguments=words, code=code)
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr


ENDLESS = shlex.split("train CartPole-v1 --workers 1 --envs 2 --minutes 5 --log-seconds 0.2 --name a")


@pytest.mark.fault(15)
@pytest.mark.fault(16)
@pytest.mark.parametrize(
    ("number", "to_all", "code"),
    [(signal.SIGINT, True, 130), (signal.SIGTERM, False, 143), (signal.SIGTERM, True, 143)],
    ids=["Ctrl-C", "SIGTERM", "SIGTERM to the whole group, as timeout and systemd do"],
)
def test_a_signal_ends_training_in_order(tmp_path: Path, number: int, to_all: bool, code: int) -> None:
    started = Started(ENDLESS, tmp_path)
    run = tmp_path / "runs" / "a"
    metrics = run / "metrics.jsonl"
    wait_until(lambda: metrics.exists() and metrics.stat().st_size, 60, "the first row of metrics")
    if to_all:
        started.signal_all(number)
    else:
        os.kill(started.pid, number)
    began = time.monotonic()
    ended = started.wait()
    assert time.monotonic() - began < 10
    assert (ended.code, ended.err) == (code, "")
    assert f"stopped by {signal.Signals(number).name}" in ended.out
    assert "hogwild resume runs/a" in ended.out
    assert json.loads((run / "status.json").read_text())["state"] == "interrupted"
    _, checkpoint, skipped = newest_checkpoint(run / "checkpoints")
    assert skipped == []
    assert checkpoint.state["progress"]["steps"] > 0


@pytest.mark.fault(19)
def test_ctrl_c_while_workers_load_ends_in_order_and_without_noise(tmp_path: Path) -> None:
    started = Started(ENDLESS, tmp_path)
    wait_until(lambda: any("spawn_main" in words for words in started.command_lines()), 60, "a worker")
    time.sleep(0.5)  # long enough for it to be alive, and not for torch to be loaded
    started.signal_all(signal.SIGINT)
    ended = started.wait()
    assert "Traceback" not in ended.err
    assert ended.code == 130


@pytest.mark.fault(19)
@pytest.mark.parametrize("delay", [0.0, 0.3, 0.6, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0])
def test_a_signal_at_any_moment_of_the_start_leaves_nobody(delay: float, tmp_path: Path) -> None:
    started = Started(ENDLESS, tmp_path)
    time.sleep(delay)
    os.kill(started.pid, signal.SIGTERM)
    ended = started.wait()  # for everybody
    assert ended.code in (143, -signal.SIGTERM)  # before Hogwild is loaded, nobody has told Python otherwise
    assert "Traceback" not in ended.err


SLOW = """
import time
from pathlib import Path

import gymnasium
from gymnasium.envs.classic_control import CartPoleEnv


class Slow(CartPoleEnv):
    def step(self, action):
        Path("asleep").touch()
        time.sleep(100)
        return super().step(action)


gymnasium.register("Slow-v0", entry_point=Slow)
"""


@pytest.mark.fault(17)
def test_a_second_ctrl_c_ends_training_at_once(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(SLOW)
    started = Started(["train", "slow:Slow-v0", *ENDLESS[2:]], tmp_path)
    wait_until((tmp_path / "asleep").exists, 60, "the first step")
    started.signal_all(signal.SIGINT)
    time.sleep(1.0)
    assert started.process.poll() is None  # the worker may finish its rollout
    began = time.monotonic()
    started.signal_all(signal.SIGINT)
    ended = started.wait()
    assert time.monotonic() - began < 2
    assert (ended.code, ended.err) == (130, "hogwild: stopped\n")


class Gone(Silent):
    """A display whose reader has gone, as in `hogwild train … | head`."""

    def update(self, *_: object) -> None:
        raise BrokenPipeError


@pytest.mark.fault(21)
def test_a_reader_that_goes_away_does_not_cost_what_was_learned(tmp_path: Path) -> None:
    few: dict[str, Any] = {"steps": 64, "engine": "inline", "workers": 1, "envs": 2, "rollout_steps": 16}
    with contextlib.suppress(BrokenPipeError):
        start_training(layer("CartPole-v1", **few, runs=str(tmp_path), name="a"), Gone())
    assert newest_checkpoint(tmp_path / "a" / "checkpoints")[1].state["progress"]["steps"] > 0


@pytest.mark.fault(71)
def test_two_trainings_cannot_share_a_run(here: Callable[..., Ended], tiny: Path) -> None:
    owner = RunFolder(tiny)
    owner.lock()
    owner.write_status({"pid": os.getpid(), "steps": 5})
    ended = here("resume", str(tiny), "--steps", "3000")
    owner.unlock()
    assert ended.code == 5
    assert f"by process {os.getpid()}" in ended.err
