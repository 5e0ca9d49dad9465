"""Slots: few file descriptors however many there are, and each its own to autograd."""

import os
import signal
import warnings

import pytest
import torch

from hogwild.exchanges.slots import Slots
from hogwild.rollout import Played


def test_shared_tensors_do_not_become_more_with_workers_and_slots() -> None:
    shapes = {"flat": torch.empty(3), "first": torch.empty(2, 2, dtype=torch.bool)}
    few, many = Slots(1, 1, shapes), Slots(64, 4, shapes)
    assert many.tensors().keys() == few.tensors().keys()
    assert many.content("first", 255).dtype == torch.bool


def test_filling_a_slot_changes_it_and_no_other() -> None:
    slots = Slots(2, 2, {"flat": torch.empty(3)})
    slots.share()
    slots.content("flat", 2).fill_(7.0)
    assert [slots.content("flat", slot).tolist() for slot in range(4)] == [[0] * 3, [0] * 3, [7] * 3, [0] * 3]


def test_a_slot_can_be_filled_while_another_is_learned_from() -> None:
    """Autograd refuses tensors that were changed since the forward pass, and takes views of one for the same."""
    slots, weight = Slots(1, 2, {"flat": torch.empty(3)}), torch.ones(3, requires_grad=True)
    slots.content("flat", 0).fill_(2.0)
    loss = (weight * slots.content("flat", 0)).sum()
    slots.content("flat", 1).fill_(5.0)
    loss.backward()
    assert weight.grad is not None
    assert weight.grad.tolist() == [2.0, 2.0, 2.0]


@pytest.mark.fault(2)
@pytest.mark.parametrize("name", ["flat", "first"])
def test_what_was_only_half_written_is_told_from_what_is_whole(name: str) -> None:
    slots = Slots(1, 1, {"flat": torch.empty(3), "first": torch.empty(2, 2, dtype=torch.bool)})
    slots.content("flat", 0).fill_(2.0)
    slots.seal(0)
    slots.hand_over(0, [Played(5)])
    assert slots.is_whole(0)
    slots.content(name, 0)[-1] = 1  # as one does who overwrites it, and is killed
    assert not slots.is_whole(0)


@pytest.mark.fault(2)
def test_a_slot_is_nobodys_but_its_owners_until_it_is_handed_over() -> None:
    slots = Slots(1, 2, {"flat": torch.empty(3)})
    slots.content("flat", 0).fill_(2.0)
    slots.seal(0)
    assert slots.take(1) is None
    slots.hand_over(0, [Played(5)])
    assert slots.take(1) == [0]
    assert slots.forget_taken() == 1  # whoever took it has died
    assert slots.free_slot(0) == 0


@pytest.mark.fault(2)
@pytest.mark.parametrize("was_handed_over", [False, True])
def test_what_a_killed_process_had_half_written_is_never_learned_from(was_handed_over: bool) -> None:
    slots = Slots(1, 1, {"flat": torch.empty(1000)})
    slots.share()
    if was_handed_over:  # as by one who overwrites what it had handed over
        slots.seal(0)
        slots.hand_over(0, [Played(5)])
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", DeprecationWarning
        )  # Python 3.12 warns of other threads, which it does not need
        child = os.fork()
    if child == 0:
        try:
            slots.content("flat", 0)[:500] = 7.0
            os.kill(os.getpid(), signal.SIGKILL)
        finally:
            os._exit(1)
    os.waitpid(child, 0)
    assert slots.content("flat", 0)[0] == 7.0
    assert slots.take(1) == ([0] if was_handed_over else None)
    assert not (was_handed_over and slots.is_whole(0))
