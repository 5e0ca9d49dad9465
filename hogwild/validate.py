"""Settings that make no sense, each in a sentence that says what would."""

import math
from collections.abc import Callable, Iterable, Iterator

from hogwild.config.settings import ExecutionSettings, PolicySettings, Settings
from hogwild.config.suggest import unknown
from hogwild.own import is_own
from hogwild.policies.spec import ENCODERS, SMALLEST_IMAGE, PolicySpec, encoder_kind

OBJECTIVES = ("a3c", "ppo", "vtrace")

AT_LEAST_1 = (
    *("envs", "rollout_steps", "image_size", "frame_stack", "memory_size", "keep_checkpoints", "minibatches", "epochs"),
    *("slots", "accumulate", "pull_every", "updaters", "batch_rollouts", "max_deaths", "max_skipped"),
)
FRACTIONS = ("discount", "gae_lambda", "rms_decay", "entropy_final", "persistence_final", "learning_rate_final")
BELOW_1 = ("beta1", "beta2", "sticky", "dropout", "persistence")
POSITIVE = (
    *("clip", "rho_max", "c_max", "learning_rate", "epsilon", "checkpoint_seconds", "log_seconds", "reward_scale"),
    "deviation",
)
NOT_NEGATIVE = (
    *("entropy", "value_coef", "max_grad_norm", "value_clip", "max_kl", "max_lag", "steps", "minutes", "workers"),
    *("seed", "image_width", "encoder_size", "schedule_steps", "normalise_steps", "noops", "reward_clip"),
    *("record_inputs", "deviation_floor", "env_timeout", "worker_memory", "settle"),
)
EXCHANGE_ONLY = {
    "slots": ("gradients", "trajectories"),
    "when_full": ("gradients",),
    "accumulate": ("gradients",),
    "pull_every": ("gradients",),
    "updaters": ("gradients",),
    "batch_rollouts": ("trajectories",),
    "when_stale": ("trajectories",),
    "max_lag": ("weights", "gradients", "trajectories"),
    "compress": ("gradients",),
}
OBJECTIVE_ONLY = {"ppo": ("epochs", "clip", "value_clip", "max_kl"), "vtrace": ("rho_max", "c_max")}
# Where somebody else learns for all workers, it has one value for all of them.
ONE_FOR_ALL = {
    "gradients": ("learning_rate",),
    "trajectories": ("discount", "gae_lambda", "entropy", "value_coef", "clip", "max_grad_norm", "learning_rate"),
    "barrier": ("max_grad_norm", "learning_rate"),
}
RULES: tuple[tuple[tuple[str, ...], Callable[[float], bool], str], ...] = (
    ((*AT_LEAST_1, "frame_skip", "frame_limit"), lambda v: v >= 1, "must be at least 1"),
    (FRACTIONS, lambda v: 0 <= v <= 1, "must be between 0 and 1"),
    (BELOW_1, lambda v: 0 <= v < 1, "must be at least 0 and less than 1"),
    (POSITIVE, lambda v: 0 < v < math.inf, "must be greater than 0"),
    (NOT_NEGATIVE, lambda v: 0 <= v < math.inf, "must not be negative"),
)


def problems(settings: Settings, spec: PolicySpec | None = None) -> list[str]:
    """Everything that is wrong with the settings; with the environment's spaces known, also what does not fit them.

    >>> problems(Settings().update(discount=1.5))
    ['--discount 1.5: must be between 0 and 1.']
    """
    found = [*_names(settings), *_ranges(settings), *_contradictions(settings), *_cells(settings)]
    return found + list(_misfits(settings, spec)) if spec is not None else found


def doubts(settings: Settings) -> list[str]:
    """What is probably not meant, though it can be done.

    >>> doubts(Settings().update(entropy=[0.01, 0.02, 0.03], workers=2))
    ['--entropy: 3 values for 2 workers; the last is not used.']
    """
    workers = settings.execution.workers
    return [
        f"--{name.replace('_', '-')}: {len(values)} values for {workers} worker{'s' * (workers > 1)}; "
        f"{'the last is' if len(values) == workers + 1 else f'the last {len(values) - workers} are'} not used."
        for name, values in settings.flat().items()
        if isinstance(values, tuple) and len(values) > workers > 0 and settings.execution.engine != "ray"
    ]


def idle(names: Iterable[str], settings: Settings) -> list[str]:
    """Which of these settings, chosen by hand, change nothing beside the others.

    >>> idle(["clip", "entropy"], Settings().update(objective="a3c"))
    ['--clip: does nothing with --objective a3c.']
    """
    objective, policy = settings.objective.objective, settings.policy
    found: dict[str, str] = {}
    for owner, owned in OBJECTIVE_ONLY.items():
        if objective in OBJECTIVES and objective != owner:
            found |= dict.fromkeys(owned, f"--objective {objective}")
    if policy.memory == "none":
        found["memory_size"] = "--memory none"
    return [f"--{name.replace('_', '-')}: does nothing with {found[name]}." for name in names if name in found]


def _names(settings: Settings) -> Iterator[str]:
    """Names that may also be those of parts of your own."""
    for flag, name, known in (
        ("encoder", settings.policy.encoder, ENCODERS),
        ("objective", settings.objective.objective, OBJECTIVES),
    ):
        if not is_own(name) and name not in known:
            yield f"--{flag} {name}: {unknown(flag, name, known)}"


def _ranges(settings: Settings) -> Iterator[str]:
    flat = settings.flat()
    for names, fits, rule in RULES:
        for name in names:
            yield from _each(name, flat[name], fits, rule)


def _each(name: str, values: object, fits: Callable[[float], bool], rule: str) -> Iterator[str]:
    for value in values if isinstance(values, tuple) else (values,):
        if value is not None and not fits(value):
            yield f"--{name.replace('_', '-')} {value:g}: {rule}."


def _contradictions(settings: Settings) -> Iterator[str]:
    objective = settings.objective
    fractions = (settings.optimizer.learning_rate_final, objective.entropy_final, objective.persistence_final)
    scheduled = any(fraction != 1.0 for fraction in fractions) or objective.settle > 0
    ends = settings.optimizer.schedule_steps or settings.run.steps
    if scheduled and not ends:
        yield "A schedule needs an end: give --schedule-steps or --steps."
    if settings.objective.returns == "monte-carlo" and settings.objective.normalise_advantage:
        yield "--normalise-advantage: not with --returns monte-carlo, where a rollout may have no whole episode."
    if settings.run.name in (".", "..") or any(c in settings.run.name for c in "/\\\0"):
        yield f"--name {settings.run.name!r}: a folder name, without slashes."


def _cells(settings: Settings) -> Iterator[str]:
    """Combinations of objective, exchange and engine that make no sense, and the nearest that does."""
    execution, objective = settings.execution, settings.objective
    if objective.objective == "ppo" and execution.exchange == "gradients":
        yield (
            "ppo × gradients: each pass over a rollout needs the update of the one before, and gradients on their way "
            f"are not in the weights yet. Take --exchange {'' if execution.engine == 'ray' else 'weights, or '}"
            "trajectories; or --objective a3c."
        )
    if objective.objective == "vtrace" and objective.returns != "gae":
        yield f"--returns {objective.returns}: vtrace has returns of its own; leave it out."
    yield from _devices(execution)
    yield from _machines(execution)
    if execution.record_schedule and execution.lock == "free":
        yield "--record-schedule: lock-free writes cannot be repeated exactly; add --lock turns."
    for name, exchange in EXCHANGE_ONLY.items():
        if getattr(execution, name) != getattr(ExecutionSettings, name) and execution.exchange not in exchange:
            flag = f"--{name.replace('_', '-')}"
            yield f"{flag}: means nothing with --exchange {execution.exchange}, only with {' or '.join(exchange)}."
    yield from _per_worker(settings)
    envs = min(settings.environment.envs) * execution.batch_rollouts
    whole = objective.objective != "ppo" or settings.policy.memory != "none"  # sequences are not torn apart
    parts = envs if whole else envs * min(objective.rollout_steps)
    if objective.minibatches > max(parts, 1):
        what = "environments" if whole else "steps"
        yield f"--minibatches {objective.minibatches}: a rollout has only {parts} {what}."
    places = execution.slots * execution.workers  # 0: the number of workers is not decided yet
    is_here = execution.engine != "ray"  # what comes from elsewhere has slots enough
    if is_here and execution.exchange == "trajectories" and 0 < places < execution.batch_rollouts:
        yield (
            f"--batch-rollouts {execution.batch_rollouts}: more than fit into all slots ({places}); "
            "raise --slots, or the learner waits for ever."
        )


def _machines(execution: ExecutionSettings) -> Iterator[str]:
    """What makes no sense on several machines, or on one."""
    if execution.engine != "ray":
        for name in ("address", "compress"):
            if getattr(execution, name) != getattr(ExecutionSettings, name):
                yield f"--{name}: only for --engine ray; within one machine nothing is sent."
        return
    if execution.exchange in ("weights", "barrier"):
        yield (
            f"{execution.exchange} × ray: machines do not share memory. Take --exchange trajectories, or gradients "
            "with --objective a3c or vtrace; on one machine, --engine processes."
        )
    if execution.record_schedule:
        yield "--record-schedule: only on one machine; take --engine processes."


def _per_worker(settings: Settings) -> Iterator[str]:
    """Values for each worker, where all are served by one who has but one."""
    exchange, flat = settings.execution.exchange, settings.flat()
    for name in ONE_FOR_ALL.get(exchange, ()):
        if len(set(flat[name])) > 1:
            flag = f"--{name.replace('_', '-')}"
            yield f"{flag}: --exchange {exchange} has one value for all workers; one for each needs --exchange weights."
    if exchange != "weights" and not settings.optimizer.shared_statistics:
        yield f"--no-shared-statistics: with --exchange {exchange} there is one optimizer; take --exchange weights."


def _devices(execution: ExecutionSettings) -> Iterator[str]:
    """Devices that do not exist, or that this engine cannot use."""
    if execution.device == ("cpu",) or execution.engine == "ray":  # other machines have other devices
        return
    import torch

    for name in execution.device:
        try:
            torch.empty(0, device=name)
        except Exception as error:  # what kind it is hangs on the device and on how torch was built
            yield f"--device {name}: {str(error).splitlines()[0].rstrip('.')}."
    if execution.engine == "threads" and len(set(execution.device)) > 1:
        yield "--device: with --engine threads the weights stay on one device; several are for --engine processes."


def _misfits(settings: Settings, spec: PolicySpec) -> Iterator[str]:
    kind = encoder_kind(spec, settings.policy)
    if is_own(kind) or settings.policy.policy_class:
        return
    if kind == "mlp" and spec.is_image:
        yield "--encoder mlp: observations are pictures; take a3c, compact, nature, universe or a3g."
    if kind != "mlp" and not spec.is_image:
        yield f"--encoder {kind}: observations are vectors; take mlp."
    for part in spec.parts:
        if kind != "mlp" and part.is_image and min(part.shape[1:]) < SMALLEST_IMAGE[kind]:
            yield f"--encoder {kind}: pictures of {part.shape[1:]} are too small for it."
    policy = settings.policy
    if not any(part.kind == "numbers" for part in spec.actions):
        for name in ("deviation", "deviation_by_state", "deviation_floor", "squash"):
            if getattr(policy, name) != getattr(PolicySettings, name):
                yield f"--{name.replace('_', '-')}: only for actions that are numbers, and here are none."
    elif policy.squash and settings.environment.action_bounds == "clip":
        yield "--squash: needs --action-bounds rescale, or bounds beyond 1 could never be reached."
