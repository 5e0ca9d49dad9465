"""The normaliser that is part of the first convolution against the one that is written out."""

import pytest
import torch
from torch.nn import functional as F

from hogwild.policies.normalisers import ScaledConv2d


def filled_layer(padding: int) -> ScaledConv2d:
    torch.manual_seed(0)
    layer = ScaledConv2d((3, 20, 24), 255.0, filters=5, kernel=4, stride=2, padding=padding)
    layer.mean.copy_(torch.rand(1, 3, 20, 24) * 255)
    layer.deviation.fill_(17.0)
    return layer


@pytest.mark.parametrize("padding", [0, 1])
@pytest.mark.parametrize("learning", [False, True])
def test_the_layer_normalises_as_the_formula_says(padding: int, learning: bool) -> None:
    layer = filled_layer(padding)
    pictures = torch.randint(256, (6, 3, 20, 24), dtype=torch.uint8)
    normalised = (pictures.float() - layer.mean) / layer.deviation
    expected = F.conv2d(normalised, layer.weight, layer.bias, layer.stride, layer.padding)
    with torch.set_grad_enabled(learning):
        torch.testing.assert_close(layer(pictures), expected, atol=1e-3, rtol=1e-4)


@pytest.mark.parametrize("padding", [0, 1])
def test_gradients_through_the_layer_are_those_of_the_formula(padding: int) -> None:
    layer = filled_layer(padding)
    pictures = torch.randint(256, (6, 3, 20, 24), dtype=torch.uint8)
    normalised = (pictures.float() - layer.mean) / layer.deviation
    expected = F.conv2d(normalised, layer.weight, layer.bias, layer.stride, layer.padding)
    weights = torch.randn_like(expected)
    wanted = torch.autograd.grad((expected * weights).sum(), [layer.weight, layer.bias])
    found = torch.autograd.grad((layer(pictures) * weights).sum(), [layer.weight, layer.bias])
    for a, b in zip(found, wanted, strict=True):
        torch.testing.assert_close(a, b, atol=1e-2, rtol=1e-3)


def test_without_an_estimate_bytes_are_scaled_to_one() -> None:
    layer = ScaledConv2d((1, 8, 8), 255.0, filters=1, kernel=8, stride=1, padding=0)
    with torch.no_grad():
        layer.weight.fill_(1 / 64)
        assert layer.bias is not None
        layer.bias.zero_()
        assert layer(torch.full((1, 1, 8, 8), 255, dtype=torch.uint8)).item() == pytest.approx(1.0)


@pytest.mark.parametrize("learning", [False, True])
def test_pictures_of_decimals_are_left_as_they_were(learning: bool) -> None:
    layer = filled_layer(padding=0)
    pictures = torch.rand(2, 3, 20, 24)
    before = pictures.clone()
    with torch.set_grad_enabled(learning):
        layer(pictures)
    assert torch.equal(pictures, before)
