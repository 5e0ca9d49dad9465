"""What travels between machines arrives as it was."""

import numpy as np
import pytest
import torch

from hogwild.engines.ray.parcel import pack_gradients, pack_rollout, played_by, unpack, widened
from hogwild.exchanges.make import make_shared
from hogwild.exchanges.slots import Slots
from hogwild.exchanges.trajectories import read_slot
from hogwild.policies.make import make_policy
from hogwild.resolve import layer, resolve
from hogwild.rollout import Played


def slots_of_gradients(count: int, parameters: int = 5) -> Slots:
    slots = Slots(count, 1, {"flat": torch.empty(parameters)}, max_rollouts=4)
    for slot in range(count):
        slots.content("flat", slot).copy_(torch.arange(parameters) * (slot + 1.0))
        slots.seal(slot)
        slots.hand_over(slot, [Played(10 + slot, born=100.0 - slot)])
    return slots


@pytest.mark.parametrize("is_sum", [False, True])
def test_gradients_of_several_workers_leave_as_one(is_sum: bool) -> None:
    slots = slots_of_gradients(3)
    goods = pack_gradients(slots, [0, 1, 2], is_sum, is_half=False, now=103.0)
    together = sum(np.arange(5.0) * factor for factor in (1, 2, 3))
    np.testing.assert_allclose(goods.arrays["flat"], together if is_sum else together / 3)
    assert goods.versions == (10, 11, 12)
    assert goods.ages == (3.0, 4.0, 5.0)


def test_half_the_bytes_are_as_near_as_bfloat16_can_be() -> None:
    slots = Slots(1, 1, {"flat": torch.empty(1000)})
    numbers = torch.randn(1000, generator=torch.Generator().manual_seed(0)) * 1e-3
    slots.content("flat", 0).copy_(numbers)
    whole, half = (pack_gradients(slots, [0], False, is_half, 0.0) for is_half in (False, True))
    assert half.bytes == whole.bytes // 2
    np.testing.assert_array_equal(widened(half.arrays["flat"]), numbers.bfloat16().float().numpy())
    into = Slots(1, 1, {"flat": torch.empty(1000)})
    unpack(half, into, 0)
    np.testing.assert_allclose(into.content("flat", 0).numpy(), numbers.numpy(), rtol=2**-8)
    assert into.is_whole(0)


def rollout_box(**changes: object) -> Slots:
    resolved = resolve(layer("CartPole-v1", exchange="trajectories", **changes))
    box = make_shared(resolved.settings, make_policy(resolved.spec, resolved.settings.policy)).mailbox
    assert isinstance(box, Slots)
    return box


def test_a_rollout_that_is_smaller_than_its_slot_arrives_whole() -> None:
    here = rollout_box(workers=1, envs=[3, 2], rollout_steps=[7, 5], memory="lstm")
    there = rollout_box(workers=1, envs=[3, 2], rollout_steps=[7, 5], memory="lstm", slots=4)
    generator = torch.Generator().manual_seed(0)
    for block in here.blocks.values():
        block.copy_(torch.randint(0, 2, block.shape, generator=generator))
    here.seal(1)
    here.hand_over(1, [Played(4, born=10.0)], (5, 2))
    goods = pack_rollout(here, 1, now=12.0)
    unpack(goods, there, 3)
    there.hand_over(3, played_by(goods, now=50.0), goods.shape)
    sent, arrived = read_slot(here, 1), read_slot(there, 3)
    for name, tensor in sent.tensors().items():
        assert torch.equal(tensor, arrived.tensors()[name]), name
    assert arrived.rewards.shape == (5, 2)
    assert arrived.played == (Played(4, born=48.0),)
    assert there.is_whole(3)
