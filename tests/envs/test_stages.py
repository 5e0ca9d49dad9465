import math

import cv2
import numpy as np
import pytest

from hogwild.envs import stages
from hogwild.envs.recipes import make_recipe
from hogwild.envs.stages import RunningNormaliser


@pytest.fixture
def screen():
    return np.random.default_rng(1).integers(0, 256, (210, 160, 3), dtype=np.uint8)


@pytest.fixture
def small():
    return np.random.default_rng(2).integers(0, 256, (6, 5, 3), dtype=np.uint8)


def pixelwise(picture, function):
    """Slow: one pixel after the other."""
    height, width = picture.shape[:2]
    return np.array([[function(picture[y, x].astype(float)) for x in range(width)] for y in range(height)])


def test_crop_keeps_the_named_rows_and_left_columns(small):
    cropped = stages.crop(2, 5, width=3).apply(small)
    assert cropped.shape == (3, 3, 3)
    for y in range(3):
        for x in range(3):
            assert (cropped[y, x] == small[y + 2, x]).all()


@pytest.mark.parametrize(
    ("rom", "first", "last"),
    [
        ("asteroids", 16, 194),
        ("beam_rider", 20, 180),
        ("centipede", 36, 216),
        ("ms_pacman", 2, 170),
        ("seaquest", 30, 190),
        ("space_invaders", 8, 196),
        ("video_pinball", 42, 220),
        ("qbert", 12, 200),
        ("boxing", 30, 190),
        ("pong", 34, 194),
        ("breakout", 34, 194),
    ],
)
def test_each_game_is_cropped_by_the_table_and_others_by_the_default(rom, first, last, screen):
    cropped = stages.crop_for_game(rom).apply(screen)
    assert np.array_equal(cropped, screen[first:last, 0:160])
    assert cropped.shape == (min(last, 210) - first, 160, 3)


@pytest.mark.parametrize(("method", "flag"), [("area", cv2.INTER_AREA), ("linear", cv2.INTER_LINEAR)])
@pytest.mark.parametrize("size", [42, 80, 84])
@pytest.mark.parametrize("channels", [1, 3])
def test_resize_is_what_opencv_does_under_that_name(method, flag, size, channels, screen):
    picture = screen if channels == 3 else np.ascontiguousarray(screen[:, :, 0])
    resized = stages.resize((size, size), method).apply(picture)
    assert resized.shape == (size, size, *picture.shape[2:])
    assert np.array_equal(resized, cv2.resize(picture, dsize=(size, size), interpolation=flag))


def test_area_resize_to_half_is_the_mean_of_two_by_two_pixels(screen):
    picture = screen[:160, :, 0].copy()
    halved = stages.resize((80, 80), "area").apply(picture)
    for y, x in np.random.default_rng(3).integers(0, 80, (200, 2)):
        mean = picture[2 * y : 2 * y + 2, 2 * x : 2 * x + 2].astype(float).mean()
        assert abs(halved[y, x] - mean) <= 0.5


def test_an_unknown_way_to_resize_is_an_error():
    with pytest.raises(KeyError):
        stages.resize((84, 84), "cubic")


def test_grey_is_the_weighted_sum_of_the_colours(small):
    greyed = stages.grey(0.2989, 0.587, 0.114).apply(small)
    slow = pixelwise(small, lambda p: 0.2989 * p[0] + 0.587 * p[1] + 0.114 * p[2])
    assert greyed.dtype == np.float32
    assert np.allclose(greyed, slow, rtol=1e-6)


def test_mean_of_colours_is_their_sum_over_three(small):
    mean = stages.mean_of_colours().apply(small)
    assert mean.dtype == np.float32
    assert np.allclose(mean, pixelwise(small, lambda p: (p[0] + p[1] + p[2]) / 3), rtol=1e-6)


def test_luma_is_within_one_grey_level_of_its_formula(small):
    luma = stages.luma_bytes().apply(small)
    slow = pixelwise(small, lambda p: 0.299 * p[0] + 0.587 * p[1] + 0.114 * p[2])
    assert luma.dtype == np.uint8
    assert luma.shape == (6, 5)
    assert np.abs(luma.astype(float) - slow).max() <= 1.0


@pytest.mark.parametrize(("colour", "level"), [((255, 0, 0), 76), ((0, 255, 0), 150), ((0, 0, 255), 29)])
def test_luma_tells_red_from_blue(colour, level):
    picture = np.full((2, 2, 3), colour, dtype=np.uint8)
    assert np.abs(stages.luma_bytes().apply(picture).astype(int) - level).max() <= 1


def test_scale_brings_every_byte_into_zero_to_one():
    scaled = stages.scale_to_one().apply(np.arange(256, dtype=np.uint8))
    assert scaled.dtype == np.float32
    assert (scaled[0], scaled[255]) == (0.0, 1.0)
    assert np.allclose(scaled, [level / 255 for level in range(256)], rtol=1e-6)


@pytest.mark.parametrize("shape", [(6, 4), (7, 5), (8, 8, 3)])
def test_every_second_pixel_begins_with_the_first(shape):
    picture = np.arange(math.prod(shape)).reshape(shape)
    halved = stages.every_second_pixel().apply(picture)
    for y in range(0, shape[0], 2):
        for x in range(0, shape[1], 2):
            assert np.array_equal(halved[y // 2, x // 2], picture[y, x])
    assert halved.shape[:2] == ((shape[0] + 1) // 2, (shape[1] + 1) // 2)


def test_pad_adds_a_black_border_on_all_four_sides():
    padded = stages.pad(2).apply(np.full((3, 4), 7.0, dtype=np.float32))
    slow = np.zeros((7, 8), dtype=np.float32)
    slow[2:5, 2:6] = 7.0
    assert np.array_equal(padded, slow)
    assert padded.dtype == np.float32


def test_binarise_is_one_only_above_the_threshold():
    picture = np.array([[0.0, 0.39, 0.4], [0.41, 0.9, 1.0]], dtype=np.float32)
    binary = stages.binarise(0.4).apply(picture)
    assert binary.tolist() == [[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]]
    assert binary.dtype == np.float32


def test_the_running_normaliser_follows_its_formula():
    stage = RunningNormaliser()
    random = np.random.default_rng(4)
    decay, mean, deviation = 0.9999, 0.0, 0.0
    for count in range(1, 51):
        picture = (random.random((20, 20)) * random.uniform(10, 250)).astype(np.float32)
        pixels = [float(p) for p in picture.flatten()]
        its_mean = sum(pixels) / len(pixels)
        its_deviation = math.sqrt(sum((p - its_mean) ** 2 for p in pixels) / len(pixels))
        mean = mean * decay + its_mean * (1 - decay)
        deviation = deviation * decay + its_deviation * (1 - decay)
        unbiased_mean, unbiased_deviation = mean / (1 - decay**count), deviation / (1 - decay**count)
        slow = (picture.astype(float) - unbiased_mean) / (unbiased_deviation + 1e-8)
        normalised = stage.apply(picture)
        assert normalised.dtype == np.float32
        assert np.allclose(normalised, slow, rtol=1e-4, atol=1e-5)
    assert stage.count == 50
    assert stage.mean == pytest.approx(mean, rel=1e-9)
    assert stage.deviation == pytest.approx(deviation, rel=1e-9)


def test_the_first_normalised_picture_has_mean_zero_and_deviation_one():
    picture = np.random.default_rng(5).random((30, 30)).astype(np.float32) * 200
    normalised = RunningNormaliser().apply(picture)
    assert abs(normalised.mean()) < 1e-4
    assert abs(normalised.std() - 1) < 1e-4


def test_a_wholly_black_picture_is_normalised_to_zeros():
    assert (RunningNormaliser().apply(np.zeros((4, 4), dtype=np.float32)) == 0).all()


def test_two_normalisers_learn_apart():
    first, second = RunningNormaliser(), RunningNormaliser()
    first.apply(np.ones((4, 4), dtype=np.float32))
    assert (first.count, second.count) == (1, 0)


@pytest.mark.parametrize(
    ("recipe", "names"),
    [
        ("standard", ["resize 84"]),
        ("universe", ["crop", "resize 80", "resize 42", "mean of colours", "scale"]),
        ("a3g", ["crop", "resize 80", "grey", "running normaliser"]),
        ("ocd", ["luma", "resize 84", "scale"]),
        ("ocd-pong", ["mean of colours", "scale", "crop", "every second pixel", "pad", "binarise"]),
    ],
)
def test_each_recipe_is_made_of_named_stages(recipe, names):
    assert [stage.name for stage in make_recipe(recipe).make_stages("pong")] == names


@pytest.mark.parametrize("recipe", ["standard", "universe", "a3g", "ocd", "ocd-pong"])
def test_no_stage_changes_the_picture_it_is_given(recipe):
    random = np.random.default_rng(6)
    grey = recipe == "standard"
    picture = random.integers(0, 256, (210, 160) if grey else (210, 160, 3), dtype=np.uint8)
    for stage in make_recipe(recipe).make_stages("pong"):
        before = picture.copy()
        after = stage.apply(picture)
        assert np.array_equal(picture, before)
        picture = after
