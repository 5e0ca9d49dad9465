"""The training doctor: rules over a run's metrics that say in words what looks wrong, since when, and what to try.

A rule speaks of the present: what it complains of has lasted for a while and still does. Each is a function from a
`Patient` to a `Finding` or nothing; `RULES` lists them.
"""

import itertools
import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import gymnasium

from hogwild.envs.ids import EnvPlan
from hogwild.envs.make import solved_at
from hogwild.reference import Reference
from hogwild.resolve import Resolved

Row = dict[str, float]
SMOOTH = 5  # rows: single ones say little
LASTING = 0.1  # of the run: shorter is a mood, not an illness
GAMES = 50  # to say anything about games
RANDOM_SHARE = 0.05  # of the entropy of a random policy
VALUE_ERROR = 20.0  # rewards: they should be about 1
LAG_FACTOR = 3.0  # times what the settings bring with them
ALWAYS, HALF = 0.95, 0.5
FAR_BEYOND = 50  # times the limit: so long are gradients of which clipping leaves too little
KL = 0.1  # nats
NARROW = -3.0  # nats: the entropy of a number whose deviation is 0.012
NOTHING_ENDED = 200_000  # steps
HOOKS = 0.05  # of the time
LOST = 0.5  # of what had been learned


@dataclass(frozen=True)
class Finding:
    """Something that looks wrong."""

    rule: str
    step: int  # since when
    what: str
    advice: str


@dataclass(frozen=True)
class Patient:
    """A run, as the rules look at it."""

    resolved: Resolved
    rows: Sequence[Row]
    games: Sequence[tuple[int, float, float]]  # worker, return and length, in their order
    reference: Reference | None = None

    @property
    def steps(self) -> int:
        """Steps so far."""
        return int(self.rows[-1]["progress/steps"]) if self.rows else 0

    def since(self, name: str, is_wrong: Callable[[float], bool]) -> tuple[int, float] | None:
        """Since which step a metric has been wrong without a break, and its mean since then; None if it is not, or
        not for long."""
        known = [
            (int(row["progress/steps"]), row[name]) for row in self.rows if not math.isnan(row.get(name, math.nan))
        ]
        if len(known) < 2 * SMOOTH:
            return None
        smooth = [statistics.median(v for _, v in known[i - SMOOTH + 1 : i + 1]) for i in range(SMOOTH - 1, len(known))]
        lasting = len(list(itertools.takewhile(is_wrong, reversed(smooth))))
        if lasting < max(SMOOTH, LASTING * len(smooth)):
            return None
        return known[-lasting][0], statistics.mean(value for _, value in known[-lasting:])

    @property
    def is_solved(self) -> bool:
        """Whether the returns are as good as was asked for, or as counts as solved."""
        goal = self.resolved.settings.run.until_return
        if goal is None:
            goal = solved_at(self.resolved.plan)
        return goal is not None and bool(self.rows) and self.rows[-1].get("episode/return_mean", -math.inf) >= goal


def time_limit(plan: EnvPlan) -> int | None:
    """Steps after which an environment cuts an episode off, where it is known."""
    return None if plan.is_atari else gymnasium.spec(plan.id.split(":")[-1]).max_episode_steps


def examine(patient: Patient) -> list[Finding]:
    """Everything that looks wrong, the oldest first."""
    findings = [finding for rule in RULES if (finding := rule(patient)) is not None]
    return sorted(findings, key=lambda finding: finding.step)


def entropy_collapsed(patient: Patient) -> Finding | None:
    """The agent tries nothing new any more, and has not learned what it should."""
    parts = patient.resolved.spec.actions
    random = sum(math.log(max(2, part.size)) for part in parts if part.kind == "choice")
    random += sum(part.size * math.log(2) for part in parts if part.kind == "switches")
    numbers = sum(part.size for part in parts if part.kind == "numbers")
    found = patient.since("policy/entropy", lambda entropy: entropy < RANDOM_SHARE * random + NARROW * numbers)
    if found is None or patient.is_solved:
        return None
    usual = f" of {random:.2f}" if not numbers else ""
    return Finding(
        "entropy-collapsed",
        found[0],
        f"entropy is {found[1]:.3f}{usual} nats: the agent always does the same and tries nothing new",
        "a larger --entropy, or a smaller --learning-rate",
    )


def value_error_large(patient: Patient) -> Finding | None:
    """The critic's errors drown the policy's gradient."""
    found = patient.since("loss/value", lambda loss: math.sqrt(2 * max(0.0, loss)) > VALUE_ERROR)
    if found is None:
        return None
    return Finding(
        "value-error",
        found[0],
        f"values are wrong by about {math.sqrt(2 * found[1]):,.0f} rewards a step: their error drowns what is learned "
        "about actions",
        "smaller rewards (--reward-scale 0.01, or --reward-clip 1)",
    )


def values_useless(patient: Patient) -> Finding | None:
    """The critic is worse than a constant."""
    found = patient.since("value/explained_variance", lambda share: share < 0)
    if found is None or patient.is_solved:  # where all games end alike there is no variance to explain
        return None
    return Finding(
        "values-useless",
        found[0],
        f"values explain {found[1]:.0%} of the returns' variance: a constant would predict better",
        "a smaller --learning-rate, or a larger --value-coef",
    )


def gradients_old(patient: Patient) -> Finding | None:
    """What is learned from was played by an agent long gone."""
    settings = patient.resolved.settings
    passes = settings.objective.epochs if settings.objective.objective == "ppo" else 1
    natural = settings.execution.workers * passes * settings.objective.minibatches
    found = patient.since("async/lag", lambda lag: lag > LAG_FACTOR * natural + 1)
    if found is None or settings.execution.engine == "ray":  # how many machines there are is not among the settings
        return None
    return Finding(
        "gradients-old",
        found[0],
        f"gradients are {found[1]:.0f} updates old, where about {natural} are to be expected",
        "fewer --workers, fewer --slots, or --max-lag",
    )


def always_clipped(patient: Patient) -> Finding | None:
    """How long a gradient is says nothing any more. Optimizers divide by the usual length anyway, so that clipping all
    gradients does harm only where little is left of them."""
    limit = FAR_BEYOND * min(patient.resolved.settings.objective.max_grad_norm)
    found = patient.since("gradient/clipped", lambda share: share > ALWAYS)
    if found is None or patient.since("gradient/norm", lambda norm: norm > limit) is None:
        return None
    return Finding(
        "always-clipped",
        found[0],
        f"{found[1]:.0%} of the gradients are clipped: only their direction still counts",
        "a larger --max-grad-norm, a smaller --value-coef, or smaller rewards (--reward-scale)",
    )


def policy_jumps(patient: Patient) -> Finding | None:
    """Passes over a rollout carry the policy far away from the one that played it."""
    found = patient.since("ppo/kl", lambda kl: kl > KL)
    if found is None:
        return None
    return Finding(
        "policy-jumps",
        found[0],
        f"the policy moves by {found[1]:.2f} nats in one rollout: what it learns from is no longer what it would play",
        "a smaller --learning-rate, fewer --epochs, or --max-kl 0.03",
    )


def same_games(patient: Patient) -> Finding | None:
    """A worker sees one game again and again, though its actions vary: seeds or actions do not reach it."""
    entropy = next((row["policy/entropy"] for row in reversed(patient.rows) if "policy/entropy" in row), 0.0)
    if entropy < 0.1 or patient.is_solved:
        return None
    limit = time_limit(patient.resolved.plan)
    for worker in sorted({game[0] for game in patient.games}):
        games = [game[1:] for game in patient.games if game[0] == worker][-GAMES:]
        if len(games) == GAMES and len(set(games)) == 1 and games[0][1] != limit:  # nothing reached in time is alike
            return Finding(
                "same-games",
                patient.steps,
                f"the last {GAMES} games of worker {worker} all had the return {games[0][0]:g} after "
                f"{games[0][1]:g} steps, though its actions vary",
                "look whether the environment uses the seed that reset(seed=…) gives it, and the action",
            )
    return None


def nothing_ends(patient: Patient) -> Finding | None:
    """Without an end there is no return to learn from, or to show."""
    if patient.games or patient.steps < NOTHING_ENDED:
        return None
    return Finding(
        "nothing-ends",
        0,
        f"no game has ended in {patient.steps:,} steps",
        "a time limit for the environment (gymnasium.register(…, max_episode_steps=…))",
    )


def behind_reference(patient: Patient) -> Finding | None:
    """Returns are flat where our own runs have long risen."""
    if patient.reference is None or not patient.rows or "episode/return_mean" not in patient.rows[-1]:
        return None
    mean, start = patient.rows[-1]["episode/return_mean"], patient.reference.middle[0]
    low, middle, _ = patient.reference.at(patient.steps)
    if not (mean < low and mean - start < 0.25 * (middle - start) and middle - start > 0.1 * abs(start)):
        return None
    return Finding(
        "behind-reference",
        int(patient.reference.steps_to(start + 0.25 * (middle - start))),
        f"the mean return is {mean:.1f} at step {patient.steps:,}; our own runs were between {low:.1f} and "
        f"{patient.reference.at(patient.steps)[2]:.1f} there",
        "the default settings (hogwild train ENV --dry-run shows which ones you changed), or another --seed",
    )


def forgotten(patient: Patient) -> Finding | None:
    """It was good once."""
    means = [(int(r["progress/steps"]), r["episode/return_mean"]) for r in patient.rows if "episode/return_mean" in r]
    if len(patient.games) < 2 * GAMES or len(means) < 2 * SMOOTH:
        return None
    when, best = max(means[SMOOTH:], key=lambda point: point[1])
    first, now = means[SMOOTH - 1][1], means[-1][1]
    gained = best - first
    last = [game[1] for game in patient.games[-GAMES:] if math.isfinite(game[1])]
    spread = statistics.pstdev(last) if last else math.inf
    if gained <= 2 * spread / math.sqrt(GAMES) or best - now < max(LOST * gained, spread):
        return None
    return Finding(
        "forgotten",
        when,
        f"the mean return was {best:.1f} at step {when:,} and is {now:.1f} now",
        "a smaller --learning-rate, or one that falls (--learning-rate-final 0.1); the best agent is kept",
    )


def workers_wait(patient: Patient) -> Finding | None:
    """Cores stand idle."""
    execution = patient.resolved.settings.execution
    servers = {"gradients": execution.updaters, "trajectories": 1}.get(execution.exchange, 0)
    idle = servers / max(1, servers + execution.workers)  # they may wait as they like: they are there to serve
    found = patient.since("time/waiting", lambda share: share > idle + (1 - idle) * HALF)
    if found is None or execution.engine in ("inline", "ray"):  # on a cluster workers are more than is known here
        return None
    return Finding(
        "workers-wait",
        found[0],
        f"{found[1]:.0%} of the time is spent waiting for others",
        "--exchange weights, where nobody waits, or fewer --workers",
    )


def hooks_slow(patient: Patient) -> Finding | None:
    """Somebody's own code holds up the workers, or the coordinator, which hears them."""
    for name, where in (("time/hooks", "on_rollout and on_update"), ("time/coordinator_hooks", "on_episode")):
        if (found := patient.since(name, lambda share: share > HOOKS)) is not None:
            what = f"{found[1]:.0%} of the time is spent in --hooks {patient.resolved.settings.run.hooks}"
            return Finding("hooks-slow", found[0], what, f"to do less in {where}, or only now and then")
    return None


RULES: tuple[Callable[[Patient], Finding | None], ...] = (
    entropy_collapsed,
    value_error_large,
    values_useless,
    gradients_old,
    always_clipped,
    policy_jumps,
    same_games,
    nothing_ends,
    behind_reference,
    forgotten,
    workers_wait,
    hooks_slow,
)
