"""Every metric, declared once with its unit and meaning; files, displays and the reference page read this list."""

from dataclasses import dataclass, replace

from hogwild.report import LAG_NAMES


@dataclass(frozen=True)
class Metric:
    """One number that is written while training."""

    name: str
    unit: str
    meaning: str


METRICS = {
    m.name: m
    for m in (
        Metric("episode/return_mean", "score", "mean raw return of the last 100 whole games"),
        Metric("episode/return_best", "score", "best raw return of a whole game so far"),
        Metric("episode/length_mean", "steps", "mean length of the last 100 whole games"),
        Metric("episode/count", "episodes", "whole games finished so far"),
        Metric("episode/lost", "episodes", "lost so far because their environments failed; not there if none is"),
        Metric("progress/steps", "steps", "steps of all environments together: the x-axis of everything"),
        Metric("progress/frames", "frames", "emulator frames: steps times frame-skip"),
        Metric("progress/updates", "updates", "changes of the weights so far: the weights' version"),
        Metric("progress/seconds", "s", "seconds of training so far, resumed runs added up"),
        Metric("speed/steps_per_second", "steps/s", "steps per second since the last row"),
        Metric("speed/updates_per_second", "updates/s", "updates per second since the last row"),
        Metric("reward/mean", "reward", "mean reward of a step, as learned from: where games are long it moves first"),
        Metric("loss/policy", "nats × reward", "policy gradient loss per step"),
        Metric("loss/value", "reward²", "value error per step, before its weight"),
        Metric("policy/entropy", "nats", "mean entropy of the action probabilities; log(actions) is random"),
        Metric("policy/entropy_coef", "1", "weight of the entropy in the loss, as scheduled"),
        Metric("value/mean", "reward", "mean predicted value"),
        Metric("value/explained_variance", "1", "share of the returns' variance that the values predict; 1 is perfect"),
        Metric("gradient/norm", "1", "global norm of the gradient before clipping"),
        Metric("gradient/clipped", "1", "share of updates whose gradient was clipped"),
        Metric("optimizer/learning_rate", "1", "learning rate, as scheduled"),
        Metric("ppo/kl", "nats", "how far the policy has moved from the one that played, estimated (ppo)"),
        Metric("ppo/clipped", "1", "share of steps whose probability ratio was cut off (ppo)"),
        Metric("vtrace/ratio", "1", "mean probability ratio of the new policy to the one that played (vtrace)"),
        Metric("vtrace/clipped", "1", "share of steps whose ratio was cut off (vtrace)"),
        Metric("async/lag", "updates", "versions between the weights that played a rollout and those updated, mean"),
        Metric("async/lag_max", "updates", "the same, largest"),
        *(Metric(f"async/lag_share/{name}", "1", f"share of rollouts with a lag of {name}") for name in LAG_NAMES),
        Metric("async/age", "s", "seconds between pulling the weights that play a rollout and its update, mean"),
        Metric("async/age_max", "s", "the same, largest"),
        Metric("async/queue", "slots", "rollouts or gradients on their way when one was added, mean"),
        Metric(
            "async/dropped", "gradients", "or rollouts lost on their way so far: overwritten, or left by one who died"
        ),
        Metric("async/skipped", "updates", "left out so far because they were not finite; not there if none was"),
        Metric("async/discarded", "rollouts", "or their gradients, left out for being older than --max-lag, so far"),
        Metric("async/lock_wait", "ms", "wait for the lock before an update, mean"),
        Metric("time/environment", "1", "share of all participants' time spent in environments"),
        Metric("time/acting", "1", "share spent choosing actions and recording"),
        Metric("time/learning", "1", "share spent computing gradients"),
        Metric("time/exchange", "1", "share spent pulling weights and applying updates"),
        Metric("time/waiting", "1", "share spent waiting for others"),
        Metric("time/hooks", "1", "share spent in hooks of your own (--hooks)"),
        Metric("time/coordinator_hooks", "1", "share of its time that the coordinator spends in them"),
        Metric("machines/count", "machines", "that take part (ray)"),
        Metric("machines/*/steps_per_second", "steps/s", "of one machine, by its name (ray)"),
        Metric("machines/*/received", "MB/s", "what one machine sends to the learner (ray)"),
        Metric("machines/*/sent", "MB/s", "weights that one machine fetches (ray)"),
    )
}


def metric_of(name: str) -> Metric | None:
    """The declaration of a metric, those of single machines and of hooks included.

    >>> metric_of("machines/n1/sent").unit, metric_of("nonsense")
    ('MB/s', None)
    """
    first, _, rest = name.partition("/")
    if first == "machines" and "/" in rest:
        declared = METRICS.get(f"machines/*/{rest.rpartition('/')[2]}")
        return replace(declared, name=name) if declared is not None else None
    if first == "own":
        return Metric(name, "", "of --hooks of your own")
    return METRICS.get(name)


def reference_page() -> str:
    """The metrics as a Markdown page."""
    rows = "\n".join(f"| `{m.name}` | {m.unit} | {m.meaning} |" for m in METRICS.values())
    return (
        "# Metrics\n\n"
        "What a run writes to `metrics.jsonl` and to TensorBoard, every `--log-seconds`. Values are means over the\n"
        "updates since the last row unless they say otherwise. This page is generated from `hogwild/runs/metrics.py`;\n"
        "a test keeps the two in step.\n\n"
        "| name | unit | meaning |\n|---|---|---|\n" + rows + "\n"
    )
