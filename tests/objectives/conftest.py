"""Objectives are compared with slow versions of themselves, so closely that single precision would not do."""

import pytest
import torch


@pytest.fixture(autouse=True)
def decimals_in_double_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    """The encoder turns observations into single precision; here everything is double, to compare exactly."""
    monkeypatch.setattr(torch.Tensor, "float", torch.Tensor.double)
