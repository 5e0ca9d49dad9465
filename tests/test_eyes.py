"""Saliency finds what decides, and nothing else."""

import torch

from hogwild.config.settings import PolicySettings
from hogwild.eyes import blurred, listening, mosaic, saliency
from hogwild.policies.policy import Policy
from hogwild.policies.spec import PolicySpec, choice


def policy(memory: str = "none") -> Policy:
    torch.manual_seed(0)
    return Policy(PolicySpec((2, 40, 40), "uint8", choice(3)), PolicySettings(encoder="a3c", memory=memory))  # type: ignore[arg-type]


class Watcher(Policy):
    """Decides by one corner of the picture alone."""

    def forward(self, observations, state, first):  # type: ignore[no-untyped-def]
        out = super().forward(observations, state, first)
        corner = observations[..., :8, :8].float().mean((-1, -2, -3)) / 255
        logits = torch.stack([corner * 10, -corner * 10, corner * 0], dim=-1)
        return out._replace(parameters=logits.log_softmax(-1))


def test_a_change_is_felt_only_where_the_agent_looks() -> None:
    torch.manual_seed(0)
    watcher = Watcher(PolicySpec((2, 40, 40), "uint8", choice(3)), PolicySettings(encoder="a3c"))
    picture = torch.zeros(2, 40, 40, dtype=torch.uint8)
    picture[:, 3:5, 3:5] = 255
    picture[:, 30:32, 30:32] = 255
    found = saliency(watcher, picture, watcher.initial_state(1), torch.zeros(1, 1, dtype=torch.bool))
    rows, columns = found.shape
    assert found[: rows // 3, : columns // 3].max() > 1e-3
    assert found[rows // 2 :, :].max() < 1e-6
    assert found[:, columns // 2 :].max() < 1e-6


def test_an_even_picture_has_nothing_to_change() -> None:
    even = torch.full((2, 40, 40), 77, dtype=torch.uint8)
    agent = policy("lstm")
    found = saliency(agent, even, agent.initial_state(1), torch.zeros(1, 1, dtype=torch.bool))
    assert found.max() < 1e-6
    assert torch.equal(blurred(even.float(), 4), even.float())


def test_every_layer_is_heard_and_nothing_stays_behind() -> None:
    agent = policy("gru")
    question = (
        torch.zeros(1, 1, 2, 40, 40, dtype=torch.uint8),
        agent.initial_state(1),
        torch.zeros(1, 1, dtype=torch.bool),
    )
    before = agent(*question).parameters
    with listening(agent) as heard:
        assert torch.equal(agent(*question).parameters, before)
    assert list(heard) == ["convolutions.0", "convolutions.1", "linear", "memory"]
    assert heard["convolutions.0"].shape[:2] == (1, 16)
    heard.clear()
    agent(*question)
    assert heard == {}


def test_a_mosaic_shows_each_map_in_its_place() -> None:
    maps = torch.zeros(1, 10, 2, 3)
    maps[0, 9] = 1.0
    shown = mosaic(maps)
    assert shown.shape == (5, 31)
    assert shown[3:5, 4:7].min() == 255
    assert shown.sum() == 255 * 6
