"""The actor-critic: an encoder, a memory, and the two heads, over whole rollouts or single steps alike."""

from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from hogwild.config.settings import PolicySettings
from hogwild.policies.encoders import Convolutions, Encoder, make_encoder
from hogwild.policies.image_normaliser import ScaledConv2d
from hogwild.policies.initialisers import initialise
from hogwild.policies.memory import make_memory
from hogwild.policies.spec import LAST_LAYER, PolicySpec, encoder_kind


class Output(NamedTuple):
    """What a policy says about [T, N] observations."""

    log_probs: Tensor  # [T, N, A]
    value: Tensor  # [T, N]
    state: Tensor  # [N, S] after the last step


class Policy(nn.Module):
    """Action probabilities and values for observations; acting calls it with T = 1, learning with whole rollouts.

    >>> policy = Policy(PolicySpec((4,), "float32", num_actions=2), PolicySettings(encoder="mlp"))
    >>> out = policy(torch.zeros(5, 3, 4), policy.initial_state(3), torch.zeros(5, 3, dtype=torch.bool))
    >>> out.log_probs.shape, out.value.shape
    (torch.Size([5, 3, 2]), torch.Size([5, 3]))
    """

    def __init__(self, spec: PolicySpec, settings: PolicySettings) -> None:
        super().__init__()
        self.spec = spec
        self.split = settings.split
        self.reads_bfloat16 = settings.precision == "bfloat16"
        kind = encoder_kind(spec, settings)
        last = settings.encoder_size or LAST_LAYER[kind]
        trunk_last = 0 if settings.split else last
        self.encoder: Encoder = make_encoder(
            kind, spec.observation_shape, last=trunk_last, scale=spec.picture_scale, layer_norm=settings.layer_norm
        )
        self.memory = make_memory(settings.memory, self.encoder.outputs, settings.memory_size)
        self.dropout = settings.dropout
        features = self.memory.outputs
        if settings.split:
            width = last or 256
            self.actor_layer = nn.Linear(features, width)
            self.critic_layer = nn.Linear(features, width)
            features = width
        self.actor = nn.Linear(features, spec.num_actions)
        self.critic = nn.Linear(features, 1)
        layers = [self.encoder, *([self.actor_layer, self.critic_layer] if settings.split else [])]
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
        """Log-probabilities and values of observations [T, N, …]; `first` [T, N] marks where episodes begin."""
        steps, envs = first.shape
        with self._encoding():
            features = self.encoder(observations.flatten(0, 1))
        features = features.float().view(steps, envs, -1)
        carried, mask = state.split([self.memory.state_size, self._mask_size], dim=1)
        if self.dropout:
            features = features * mask
        features, carried = self.memory(features, carried, first)
        state = torch.cat([carried, mask], dim=1) if self.dropout else carried
        if self.split:
            for_actor, for_critic = self.actor_layer(features).relu(), self.critic_layer(features).relu()
        else:
            for_actor = for_critic = features
        logits = self.actor(for_actor)
        return Output(logits.log_softmax(-1), self.critic(for_critic).squeeze(-1), state)

    def _encoding(self) -> AbstractContextManager[Any]:
        """The precision in which pictures are read; memory and heads are always in single precision."""
        if not self.reads_bfloat16:
            return nullcontext()
        return torch.autocast(self.device.type, torch.bfloat16)

    @property
    def picture_layer(self) -> ScaledConv2d | None:
        """The layer that normalises pictures, if observations are pictures."""
        return self.encoder.first if isinstance(self.encoder, Convolutions) else None
