"""Slots: few file descriptors however many there are, and each its own to autograd."""

import torch

from hogwild.exchanges.slots import Slots


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
