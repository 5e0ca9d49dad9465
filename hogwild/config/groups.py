"""Every setting of a training, with its unit, meaning and plain default.

The docstring under a field is its help text on the command line and its row in the reference page. Field names are
unique across the groups, so that a flag (`--entropy`), a line of TOML (`entropy = 0.01`) and a keyword argument
(`hogwild.train("pong", entropy=0.01)`) are one name. The defaults of an environment's family overlay these.

A setting whose type is a tuple can differ between workers: worker r takes element `r % len`.
"""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class EnvSettings:
    """environment"""

    envs: tuple[int, ...] = (8,)
    """Environments that one worker steps together."""
    protocol: str = "auto"
    """Named Atari protocol: a3c-2016, dqn-2015, machado-2018, v5, … ('auto': what the environment's id says)."""
    preprocess: Literal["auto", "standard", "universe", "a3g", "ocd", "ocd-pong", "none"] = "auto"
    """Recipe that turns the game's picture into an observation ('auto': standard for Atari, none elsewhere)."""
    image_size: int = 84
    """Height in pixels of standard Atari observations."""
    image_width: int = 0
    """Their width (0: as the height). 42×40 is the screen in whole blocks, and cheaper to make."""
    frame_stack: int = 4
    """Pictures stacked into one standard Atari observation."""
    frame_skip: int | None = None
    """Frames that one action lasts (None: by protocol)."""
    sticky: float | None = None
    """Probability that the emulator repeats the last action instead (None: by protocol)."""
    noops: int | None = None
    """Up to so many random no-op frames at the start of a game (None: by protocol)."""
    life_loss: bool | None = None
    """A lost life ends the episode for learning while the game goes on (None: by protocol)."""
    fire_reset: bool | None = None
    """Press fire at the start of a game (None: by protocol)."""
    full_actions: bool | None = None
    """All 18 joystick actions instead of those that the game uses (None: by protocol)."""
    frame_limit: int | None = None
    """Frames after which a game is cut off (None: by protocol)."""
    reward_clip: float | None = None
    """Clip rewards to ± this for learning; reported returns stay raw (0: never; None: by protocol)."""
    reward_scale: float = 1.0
    """Factor on rewards for learning, before clipping; reported returns stay raw."""
    reward_floor: float | None = None
    """Rewards below this, once scaled and normalised, count as this for learning, not for reports (None: never)."""
    action_bounds: Literal["rescale", "clip"] = "rescale"
    """Actions that are numbers: -1 and 1 mean an environment's own bounds, or numbers are only clipped to these."""
    backend: Literal["gymnasium", "envpool"] = "gymnasium"
    """Who steps environments other than Atari in training: Gymnasium, or, faster, EnvPool for those that it has."""
    normalise_steps: int = 10_000
    """Steps of the first play from which means and deviations are estimated."""

    @property
    def picture(self) -> tuple[int, int]:
        """Height and width of standard Atari observations."""
        return self.image_size, self.image_width or self.image_size


@dataclass(frozen=True)
class PolicySettings:
    """policy"""

    encoder: str = "auto"
    """Network that reads observations: a3c, compact, nature, universe or a3g for pictures, mlp for vectors, or your
    own, my_module:MyEncoder ('auto': a3c or mlp)."""
    encoder_size: int = 0
    """Width of the encoder's last layer, and of each layer of the mlp (0: the encoder's own)."""
    layer_norm: bool = False
    """Shift and scale the encoder's features to mean 0, deviation 1 before their activation, for each observation."""
    memory: Literal["none", "lstm", "gru"] = "none"
    """Recurrent memory between encoder and heads."""
    memory_size: int = 256
    """Units of the memory."""
    dropout: float = 0.0
    """Share of features dropped in training; one mask lasts for a rollout, so that acting and learning agree."""
    split: bool = False
    """Separate last layers for actor and critic instead of one shared; of a mlp without memory, separate networks."""
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    """Numbers that the encoder computes with; weights, memory, heads and optimizer are always float32 ('auto':
    bfloat16 for pictures on a processor that has it, but never on the `inline` engine, which is to be repeatable)."""
    initialisation: Literal["orthogonal", "glorot", "columns", "a3g", "kaiming", "normal"] = "orthogonal"
    """How weights start; see the policies page for what each stands for."""
    normalise: Literal["auto", "frozen", "running", "off"] = "auto"
    """Subtract the mean of observations and divide by their deviation, which are estimated at the start and then
    frozen, slowly updated, or not at all ('auto': frozen for pictures, but not where a recipe scales them itself)."""
    normalise_rewards: bool = False
    """Divide rewards by the running deviation of discounted returns, for learning; reported returns stay raw."""
    deviation: float = 1.0
    """Deviation with which actions that are numbers are explored at the start."""
    deviation_by_state: bool = False
    """Let that deviation depend on what is seen, instead of being the same everywhere."""
    deviation_floor: float = 0.0
    """Smallest deviation; at 0.242 the entropy of a number cannot fall below zero."""
    policy_class: str = ""
    """A policy of your own, my_module:MyPolicy, in place of encoder, memory and heads (empty: ours)."""
    squash: bool = False
    """Bring actions that are numbers between -1 and 1 by tanh, with probabilities to match."""


@dataclass(frozen=True)
class ObjectiveSettings:
    """objective"""

    objective: str = "a3c"
    """What is optimised: 'a3c', the plain policy gradient; 'ppo', several clipped passes over each rollout; 'vtrace',
    a policy gradient corrected for the age of its rollouts; or your own, my_module:MyObjective."""
    rollout_steps: tuple[int, ...] = (16,)
    """Steps of each environment in one rollout."""
    discount: tuple[float, ...] = (0.99,)
    """Discount per step."""
    returns: Literal["gae", "n-step", "monte-carlo"] = "gae"
    """How advantages and value targets are computed."""
    gae_lambda: tuple[float, ...] = (0.95,)
    """Decay of the trace in generalised advantage estimation."""
    entropy: tuple[float, ...] = (0.01,)
    """Weight of the policy's entropy, in nats."""
    entropy_final: float = 1.0
    """Fraction of the entropy weight left when the schedule ends."""
    settle: float = 0.0
    """Penalty on entropy that grows from 0 in the middle of the schedule to this at its end: an agent that has explored
    settles for what it found. For actions that are numbers, whose deviation else stays large."""
    persistence: tuple[float, ...] = (0.0,)
    """Chance that a step shares its draw with the one before: this in a worker's last environment, 0 in its first."""
    persistence_final: float = 1.0
    """Fraction of the persistence left when the schedule ends."""
    value_coef: tuple[float, ...] = (0.5,)
    """Weight of the value error."""
    value_loss: Literal["squared", "huber"] = "squared"
    """Value error: half the square, or Huber's with threshold 1."""
    reduction: Literal["mean", "sum"] = "mean"
    """Mean or sum over the steps of a rollout; learning rates mean different things under each."""
    normalise_advantage: bool = False
    """Shift and scale the advantages of each minibatch to mean 0, deviation 1."""
    minibatches: int = 1
    """Parts into which a rollout is split, one update for each."""
    epochs: int = 3
    """Passes over each rollout (ppo)."""
    clip: tuple[float, ...] = (0.2,)
    """The probability of an action may change by this factor before its gradient is cut off (ppo)."""
    value_clip: float = 0.0
    """A value may move by so much in one rollout before its gradient is cut off (ppo; 0: never)."""
    max_kl: float = 0.0
    """End the passes over a rollout when the policy has moved this far, in nats (ppo; 0: never)."""
    rho_max: float = 1.0
    """Largest weight of a step that the new policy would take more often than the old one did (vtrace)."""
    c_max: float = 1.0
    """Largest such weight in the trace that carries what came later back to a step (vtrace)."""
    max_grad_norm: tuple[float, ...] = (0.5,)
    """Gradients with a larger global norm are scaled down to it (0: never)."""


@dataclass(frozen=True)
class OptimizerSettings:
    """optimizer"""

    optimizer: Literal["adam", "amsgrad", "nadam", "rmsprop", "rmsprop-tf"] = "adam"
    """Update rule; rmsprop-tf is TensorFlow's (epsilon inside the root, accumulator starting at 1)."""
    learning_rate: tuple[float, ...] = (7e-4,)
    """Step size at the start."""
    learning_rate_final: float = 1.0
    """Fraction of the learning rate left when the schedule ends (1: constant)."""
    schedule_steps: int = 0
    """Step at which the schedules of learning rate, entropy and persistence end (0: at --steps)."""
    beta1: float = 0.9
    """Decay of the mean of gradients (adam, amsgrad, nadam)."""
    beta2: float = 0.999
    """Decay of the mean of squared gradients (adam, amsgrad, nadam)."""
    rms_decay: float = 0.99
    """Decay of the mean of squared gradients (rmsprop, rmsprop-tf)."""
    epsilon: float = 1e-5
    """Added to the denominator of the update."""
    shared_statistics: bool = True
    """One set of optimizer statistics for all workers, or one for each."""


@dataclass(frozen=True)
class ExecutionSettings:
    """execution"""

    exchange: Literal["weights", "gradients", "trajectories", "barrier"] = "weights"
    """What travels: 'weights', nothing, every worker applies its gradients to one set of weights in shared memory;
    'gradients', to an updater; 'trajectories', rollouts to a learner; 'barrier', nothing before all have come."""
    lock: Literal["free", "turns"] = "free"
    """Workers apply updates without waiting for each other, or take turns."""
    engine: Literal["processes", "threads", "inline", "ray"] = "processes"
    """Where workers run: 'processes', one each; 'threads', all in this process; 'inline', likewise, but one after the
    other in an order fixed by the seed; 'ray', on all machines of a Ray cluster."""
    address: str = ""
    """The Ray cluster to train on: 'auto', the one that this machine belongs to, or HOST:PORT (empty: what RAY_ADDRESS
    says, or else a Ray of its own on this machine) (ray)."""
    workers: int = 0
    """Number of workers (0: one for each core); with --engine ray, on each machine (0: one for each free core)."""
    device: tuple[str, ...] = ("cpu",)
    """Where policies act and learn: cpu, cuda, mps, or several such as 'cuda:0 cuda:1', which workers take in turn."""
    slots: int = 2
    """Places for rollouts or gradients on their way, for each worker; none free: the worker waits."""
    when_full: Literal["block", "drop-oldest"] = "block"
    """What a worker does when all its places are taken: wait, or overwrite its oldest gradient (gradients)."""
    accumulate: int = 1
    """Gradients that a worker adds up before it sends them (gradients)."""
    pull_every: int = 1
    """A worker fetches new weights for every so manyth rollout (gradients)."""
    updaters: int = 1
    """Threads that apply gradients (gradients)."""
    compress: Literal["none", "bfloat16"] = "none"
    """Send gradients between machines in half the bytes (gradients, ray)."""
    batch_rollouts: int = 1
    """Rollouts that the learner learns from together (trajectories)."""
    max_lag: int = 0
    """Largest number of updates between playing a rollout and learning from it (0: any)."""
    when_stale: Literal["discard", "vtrace"] = "discard"
    """What becomes of a rollout with a larger lag: nothing, or V-trace corrects for it (trajectories)."""
    record_schedule: bool = False
    """Write down in which order the weights were read and changed, so that `hogwild replay` can repeat it exactly."""
    seed: int = 0
    """Seed of everything random; each worker and environment derives its own from it."""
    env_timeout: float = 60.0
    """Seconds that a step or reset of environments may take; then their worker is killed and replaced (0: any time)."""
    max_deaths: int = 5
    """A worker that dies is replaced, until one dies so often within a minute; then the run ends (1: at the first)."""
    max_skipped: int = 20
    """Updates in a row that may be left out because they are not finite, before that is seen as a failure."""
    when_not_finite: Literal["rollback", "stop"] = "rollback"
    """What follows that failure: back to the weights of the last checkpoint, or the end of the run."""
    worker_memory: float = 0.0
    """Megabytes of memory of its own at which a worker is replaced (0: its share of four fifths of the machine)."""


@dataclass(frozen=True)
class RunSettings:
    """run"""

    steps: int = 0
    """Stop after so many steps of all environments together (0: no limit)."""
    minutes: float = 0.0
    """Stop after so many minutes of training (0: no limit)."""
    until_return: float | None = None
    """Stop when the mean return of the last 100 episodes reaches this."""
    name: str = ""
    """Name of the run's folder (empty: made of environment, method, seed and time)."""
    runs: str = "runs"
    """Folder that holds all runs."""
    checkpoint_seconds: float = 60.0
    """Seconds between checkpoints."""
    keep_checkpoints: int = 3
    """Newest checkpoints to keep, beside the best and the final one."""
    log_seconds: float = 2.0
    """Seconds between two rows of metrics."""
    track: Literal["none", "wandb", "mlflow", "trackio"] = "none"
    """Send metrics to this tracker of experiments, too; each is an extra, as in pip install 'hogwild[wandb]'."""
    detailed_logs: bool = False
    """For TensorBoard: pictures of inputs, histograms of weights, gradients, activations and statistics, the graph."""
    hooks: str = ""
    """Code of your own that training calls, my_module:MyHooks: a class like hogwild.Hooks."""
    record_inputs: int = 0
    """Keep what enters the network and the loss in the first so many updates of each worker, for `hogwild inspect`."""
