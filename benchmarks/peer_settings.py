"""Which libraries are measured on what, and with which settings."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Setting:
    """One way to run one library."""

    task: str  # what it is compared on
    library: str  # its script is peer_<library>.py
    what: str
    network: str  # and what it sees
    flags: str

    @property
    def name(self) -> str:
        """What it is called in the results."""
        return f"{self.library}: {self.what} ({self.network})"


STANDARD = "--image-size 84 --image-width 84 --frame-stack 4 --no-layer-norm"
SIGHT = {
    "70×80, a3c": "",  # the defaults
    "84×84, a3c": f"{STANDARD} --encoder a3c",
    "84×84, Nature": f"{STANDARD} --encoder nature",
    "84×84, Nature, LSTM": f"{STANDARD} --encoder nature --memory lstm",
}


def ours(task: str, what: str, network: str, flags: str) -> Setting:
    """Hogwild on Pong."""
    return Setting(task, "hogwild", what, network, f"{flags} {SIGHT[network]}")


A3C, PPO, LSTM, CARTPOLE, CEILING = "a3c", "ppo", "lstm", "cartpole", "ceiling"
LANDER, CHEETAH = ("lunarlander-a2c", "lunarlander-ppo"), ("halfcheetah-a2c", "halfcheetah-ppo")
TASKS = (A3C, PPO, LSTM, CARTPOLE, *LANDER, *CHEETAH, CEILING)
DEFAULT, SMALL, NATURE, RECURRENT = SIGHT


def vectors(env: str, tasks: tuple[str, str], their_games: int, steps: int, passes: int, more: str) -> list[Setting]:
    """A2C and PPO on an environment whose observations are vectors; PPO with minibatches of 64."""
    one, several = tasks
    network = f"{env}, 64–64"
    few = f"{their_games} game{'s' * (their_games > 1)}"
    where, theirs = f"--env {env}", f"--env {env} {more}"
    alike = f"--encoder-size 64 --envs 16 --rollout-steps 128 --minibatches 32 --epochs {passes}"
    alone = f"--algorithm ppo --passes {passes}"
    return [
        Setting(one, "hogwild", "A3C, 64 games", network, f"{where} --objective a3c --encoder-size 64 --envs 64"),
        Setting(one, "sb3", "A2C, as it comes: 8 games", network, f"{theirs} --envs 8"),
        Setting(one, "sb3", "A2C, at its best: 64 games", network, f"{theirs} --envs 64"),
        Setting(several, "hogwild", "PPO, as it comes", env, where),
        Setting(several, "hogwild", f"PPO, {passes} passes", network, f"{where} --objective ppo {alike}"),
        Setting(several, "sb3", f"PPO, {few}", network, f"{theirs} {alone} --envs {their_games} --steps {steps}"),
        Setting(several, "sb3", "PPO, 64 games", network, f"{theirs} {alone} --envs 64 --steps 128"),
    ]


SINGLE = "--precision float32"
POOLED, LIGHT = "--env HalfCheetah-v5 --backend envpool", "--objective a3c --encoder-size 64 --envs 64"
SETTINGS = [
    Setting(CEILING, "emulator", "two threads, 128 games", "84×84", ""),
    Setting(CEILING, "emulator", "two threads, 128 games", "70×80", "--height 70 --width 80 --stack 2"),
    ours(A3C, "A3C, as it comes", DEFAULT, "--objective a3c"),
    ours(A3C, "A3C", SMALL, "--objective a3c"),
    ours(A3C, "A3C", NATURE, "--objective a3c"),
    ours(A3C, "A3C, float32", NATURE, f"--objective a3c {SINGLE}"),
    Setting(A3C, "sb3", "A2C, as in its zoo: 16 games", NATURE, "--algorithm a2c --envs 16"),
    Setting(A3C, "sb3", "A2C, at its best: 64 games", NATURE, "--algorithm a2c --envs 64"),
    Setting(A3C, "rllib", "IMPALA, as it comes: 2 × 1 games", NATURE, "--algorithm impala --runners 2 --envs 1"),
    Setting(A3C, "rllib", "IMPALA, at its best: 1 × 16 games", NATURE, "--algorithm impala --runners 1 --envs 16"),
    Setting(A3C, "tianshou", "A2C on EnvPool: 16 games", NATURE, "--algorithm a2c --envs 16 --steps 80"),
    Setting(A3C, "tianshou", "A2C on EnvPool, at its best: 64 games", NATURE, "--algorithm a2c --envs 64 --steps 1024"),
    ours(PPO, "PPO, as it comes: 3 passes", DEFAULT, "--objective ppo"),
    ours(PPO, "PPO, 4 passes", NATURE, "--objective ppo --epochs 4"),
    ours(PPO, "PPO, 4 passes, float32", NATURE, f"--objective ppo --epochs 4 {SINGLE}"),
    Setting(PPO, "sb3", "PPO, as in its zoo: 8 games", NATURE, "--algorithm ppo --envs 8"),
    Setting(PPO, "sb3", "PPO, at its best: 32 games", NATURE, "--algorithm ppo --envs 32"),
    Setting(PPO, "rllib", "APPO, as it comes: 2 × 1 games", NATURE, "--algorithm appo --runners 2 --envs 1"),
    Setting(PPO, "rllib", "APPO, at its best: 1 × 16 games", NATURE, "--algorithm appo --runners 1 --envs 16"),
    Setting(PPO, "tianshou", "PPO on EnvPool, its example: 10 games", NATURE, "--algorithm ppo --envs 10 --steps 1000"),
    Setting(PPO, "tianshou", "PPO on EnvPool, at its best: 64 games", NATURE, "--algorithm ppo --envs 64 --steps 2048"),
    Setting(PPO, "sample_factory", "APPO, as it comes: 8 × 1 games", NATURE, "--workers 8 --envs 1"),
    Setting(PPO, "sample_factory", "APPO, at its best: 2 × 16, async", NATURE, "--workers 2 --envs 16 --asynchronous"),
    ours(LSTM, "PPO, 4 passes", RECURRENT, "--objective ppo --epochs 4"),
    Setting(LSTM, "sb3", "recurrent PPO, 4 passes: 16 games", RECURRENT, "--algorithm recurrent-ppo --envs 16"),
    Setting(CARTPOLE, "hogwild", "A3C, as it comes", "64–64", "--env CartPole-v1"),
    Setting(CARTPOLE, "hogwild", "A3C, at its best: 64 games", "64–64", "--env CartPole-v1 --envs 64"),
    Setting(CARTPOLE, "sb3", "A2C, as in its zoo: 8 games", "64–64", "--env CartPole-v1 --envs 8"),
    Setting(CARTPOLE, "sb3", "A2C, at its best: 64 games", "64–64", "--env CartPole-v1 --envs 64"),
    *vectors("LunarLander-v3", LANDER, their_games=16, steps=1024, passes=4, more=""),
    *vectors("HalfCheetah-v5", CHEETAH, their_games=1, steps=2048, passes=10, more="--normalise"),
    Setting(CHEETAH[0], "hogwild", "A3C on EnvPool, 64 games", "HalfCheetah-v5, 64–64", f"{POOLED} {LIGHT}"),
    Setting(CHEETAH[1], "hogwild", "PPO on EnvPool, as it comes", "HalfCheetah-v5", POOLED),
]
