"""The actor-critic: an encoder, a memory, and the two heads, over whole rollouts or single steps alike."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from hogwild.config.settings import PolicySettings
from hogwild.policies.actor import ActorHead
from hogwild.policies.encoders import Encoder, Joined, Own, make_encoder
from hogwild.policies.initialisers import initialise
from hogwild.policies.joint import make_distribution
from hogwild.policies.memory import make_memory
from hogwild.policies.normalisers import Normalised, RewardNormaliser
from hogwild.policies.spec import LAST_LAYER, PolicySpec, encoder_kind

SMALLEST_DEVIATION = 1e-4  # of a number that hardly ever changes


class Output(NamedTuple):
    """What a policy says about [T, N] observations."""

    parameters: Tensor  # [T, N, P] of the distribution of actions; for a plain choice, logarithms of probabilities
    value: Tensor  # [T, N]
    state: Tensor  # [N, S] after the last step


class Policy(nn.Module):
    """Distributions of actions and values for observations; acting calls it with T = 1, learning with whole rollouts.

    >>> from hogwild.policies.spec import choice
    >>> policy = Policy(PolicySpec((4,), "float32", choice(2)), PolicySettings(encoder="mlp"))
    >>> out = policy(torch.zeros(5, 3, 4), policy.initial_state(3), torch.zeros(5, 3, dtype=torch.bool))
    >>> out.parameters.shape, out.value.shape
    (torch.Size([5, 3, 2]), torch.Size([5, 3]))
    """

    def __init__(self, spec: PolicySpec, settings: PolicySettings) -> None:
        super().__init__()
        self.spec = spec
        self.normalise = settings.normalise
        self.reads_bfloat16 = settings.precision == "bfloat16"
        kind = encoder_kind(spec, settings)
        last = settings.encoder_size or LAST_LAYER.get(kind, 0)
        # Vectors cost little to read twice, so actor and critic can each have a network of their own.
        self.towers = settings.split and kind == "mlp" and settings.memory == "none" and not spec.is_image
        self.split = settings.split and not self.towers
        self.encoder = _make_encoder(spec, kind, 0 if self.split else last, settings, self.towers)
        self.memory = make_memory(settings.memory, self.encoder.outputs, settings.memory_size)
        self.dropout = settings.dropout
        self.rewards = RewardNormaliser() if settings.normalise_rewards else None
        features = self.memory.outputs
        if self.towers:
            features //= 2
        elif self.split:
            width = last or 256
            self.actor_layer = nn.Linear(features, width)
            self.critic_layer = nn.Linear(features, width)
            features = width
        self.actions = make_distribution(spec, settings.squash)
        self.actor = ActorHead(features, spec, settings)
        self.critic = nn.Linear(features, 1)
        layers = [*_ours(self.encoder), *([self.actor_layer, self.critic_layer] if self.split else [])]
        initialise(layers, self.memory, self.actor, self.critic, settings.initialisation)

    def initial_state(self, n: int) -> Tensor:
        """State [n, S] before the first step: an empty memory and, with dropout, a mask that drops nothing."""
        memory = torch.zeros(n, self.memory.state_size, device=self.device)
        return torch.cat([memory, torch.ones(n, self._mask_size, device=self.device)], dim=1)

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.critic.weight.device

    @property
    def _mask_size(self) -> int:
        return self.encoder.outputs if self.dropout else 0

    def renew_dropout(self, state: Tensor, generator: torch.Generator) -> Tensor:
        """State with a fresh dropout mask; the mask travels with the state, so learning repeats what acting did."""
        if not self.dropout:
            return state
        keep = 1.0 - self.dropout
        # Drawn on the host, so that a seed means the same on every device.
        kept = (torch.rand(len(state), self._mask_size, generator=generator) < keep).to(self.device)
        return torch.cat([state[:, : self.memory.state_size], kept / keep], dim=1)

    def forward(self, observations: Tensor, state: Tensor, first: Tensor) -> Output:
        """Distributions and values for observations [T, N, …]; `first` [T, N] marks where episodes begin."""
        steps, envs = first.shape
        with self._encoding():
            features = self.encoder(observations.flatten(0, 1))
        features = features.float().view(steps, envs, -1)
        carried, mask = state.split([self.memory.state_size, self._mask_size], dim=1)
        if self.dropout:
            features = features * mask
        features, carried = self.memory(features, carried, first)
        state = torch.cat([carried, mask], dim=1) if self.dropout else carried
        if self.towers:
            for_actor, for_critic = features.chunk(2, dim=-1)
        elif self.split:
            for_actor, for_critic = self.actor_layer(features).relu(), self.critic_layer(features).relu()
        else:
            for_actor = for_critic = features
        parameters = self.actions.parameters(self.actor(for_actor), self.allowed(observations))
        return Output(parameters, self.critic(for_critic).squeeze(-1), state)

    def allowed(self, observations: Tensor) -> Tensor | None:
        """Which choices are allowed, [T, N, choices], where the environment says so."""
        return observations[..., -self.spec.mask_size :] > 0 if self.spec.mask_size else None

    def _encoding(self) -> AbstractContextManager[Any]:
        """The precision in which pictures are read; memory and heads are always in single precision."""
        if not self.reads_bfloat16:
            return nullcontext()
        return torch.autocast(self.device.type, torch.bfloat16)

    def normalised(self) -> list[Normalised]:
        """Everything that is normalised: parts of the observation, then rewards."""
        running = self.normalise == "running"
        found: list[Normalised] = []
        if self.normalise in ("frozen", "running"):
            found += _normalised_parts(self.spec, self.encoder, running)
        if self.rewards is not None:
            end = found[-1].columns.stop if found else 0
            found.append(Normalised("rewards", slice(end, end + 1), False, SMALLEST_DEVIATION, 1.0, is_running=True))
        return found


def _make_encoder(spec: PolicySpec, kind: str, last: int, settings: PolicySettings, towers: bool) -> Encoder:
    normalise = settings.normalise in ("frozen", "running")
    if spec.packed:
        return Joined(spec.packed, kind, last, settings.layer_norm, normalise, towers)
    (part,) = spec.parts
    layer_norm = settings.layer_norm
    return make_encoder(
        kind, part.shape, last=last, scale=part.scale, layer_norm=layer_norm, normalise=normalise, towers=towers
    )


def _ours(encoder: Encoder) -> list[nn.Module]:
    """The encoders whose weights we start; somebody's own have started theirs."""
    readers: list[nn.Module | None] = [encoder]
    if isinstance(encoder, Joined):
        readers = [*encoder.pictures, encoder.vector, encoder.together]
    return [reader for reader in readers if reader is not None and not isinstance(reader, Own)]


def _normalised_parts(spec: PolicySpec, encoder: Encoder, running: bool) -> Iterator[Normalised]:
    """Pictures, which come first in an observation, then all vectors together."""
    at = 0
    pictures = [part for part in spec.parts if part.is_image]
    for index, part in enumerate(pictures):
        reader: nn.Module = encoder.pictures[index] if isinstance(encoder, Joined) else encoder
        where = f"encoder.pictures.{index}" if isinstance(encoder, Joined) else "encoder"
        name = f"{where}.normaliser" if isinstance(reader, Own) else f"{where}.convolutions.0"
        yield Normalised(name, slice(at, at + part.size), True, part.scale / 255, part.scale / 255, running)
        at += part.size
    end = sum(part.size for part in spec.parts)
    if end > at:
        name = "encoder.vector.normaliser" if isinstance(encoder, Joined) else "encoder.normaliser"
        yield Normalised(name, slice(at, end), False, SMALLEST_DEVIATION, 1.0, running)
