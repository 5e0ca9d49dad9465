import dataclasses

import ale_py
import cv2
import numpy as np
import pytest
from gymnasium.utils import seeding

from hogwild.envs.atari_game import AtariGame
from hogwild.envs.protocols import PROTOCOLS
from hogwild.envs.recipes import make_recipe

OWN_PROTOCOL = {"standard": "a3c-2016", "universe": "universe", "a3g": "a3g", "ocd": "ocd", "ocd-pong": "ocd"}


def make_game(rom="breakout", recipe="standard", protocol="", on_frame=None, **rules):
    """A game without no-ops at the start, unless the rules say otherwise; then nothing in it is random."""
    found = PROTOCOLS[protocol or OWN_PROTOCOL[recipe]]
    return AtariGame(rom, dataclasses.replace(found, **{"noops": 0, **rules}), make_recipe(recipe), on_frame)


def play(game, steps, seed=7):
    """Observations, rewards and ends of random play, with a reset after every end."""
    random = np.random.default_rng(seed)
    record = []
    for _ in range(steps):
        observation, reward, terminated, truncated, info = game.step(random.integers(game.action_space.n))
        record.append((observation, reward, terminated, truncated, info["game_over"]))
        if terminated or truncated:
            record.append((game.reset()[0], 0.0, False, False, False))
    return record


def same(first, second):
    return len(first) == len(second) and all(
        np.array_equal(a[0], b[0]) and a[1:] == b[1:] for a, b in zip(first, second, strict=True)
    )


# Observations of each recipe


@pytest.mark.parametrize(
    ("recipe", "shape", "dtype"),
    [
        ("standard", (4, 84, 84), np.uint8),
        ("universe", (1, 42, 42), np.float32),
        ("a3g", (1, 80, 80), np.float32),
        ("ocd", (4, 84, 84), np.float32),
        ("ocd-pong", (4, 84, 84), np.float32),
    ],
)
def test_each_recipe_has_its_shape_type_and_range_of_observations(recipe, shape, dtype):
    game = make_game("pong", recipe)
    observations = [game.reset()[0], *(entry[0] for entry in play(game, 30))]
    assert game.observation_space.shape == shape
    assert game.observation_space.dtype == dtype
    for observation in observations:
        assert observation.shape == shape
        assert observation.dtype == dtype
        assert game.observation_space.contains(observation)
    newest = np.stack([observation[-1] for observation in observations])
    if recipe == "standard":
        assert newest.max() > 100
    elif recipe == "ocd-pong":
        assert set(np.unique(newest)) == {0.0, 1.0}
    elif recipe == "a3g":
        assert newest.min() < 0 < newest.max()
        assert np.abs(newest).max() < 100
    else:
        assert newest.min() >= 0.0
        assert 0.1 < newest.max() <= 1.0


# The whole chain, computed again from the emulator's screens in the plainest way


class Emulator:
    """A second emulator that plays along and remembers every screen of the game, in grey and in colour."""

    def __init__(self, rom, seed):
        self.ale = ale_py.ALEInterface()
        self.ale.setInt("random_seed", int(seeding.np_random(seed)[0].integers(2**31)))
        self.ale.setFloat("repeat_action_probability", 0.0)
        self.ale.loadROM(ale_py.roms.get_rom_path(rom))
        self.actions = list(self.ale.getMinimalActionSet())
        self.start()

    def start(self):
        self.ale.reset_game()
        self.grey, self.colour = [self.ale.getScreenGrayscale()], [self.ale.getScreenRGB()]

    def hold(self, action, frames=4):
        reward = 0
        for _ in range(frames):
            if not self.ale.game_over():
                reward += self.ale.act(self.actions[action])
                self.grey.append(self.ale.getScreenGrayscale())
                self.colour.append(self.ale.getScreenRGB())
        return reward


class Standard:
    """Grey, brightest of two frames, 84 pixels, four of these; black before the game and fire at the start."""

    def begin(self, emulator):
        emulator.hold(1, frames=1)
        self.seen = [np.zeros((84, 84), np.uint8)] * 3
        return self.look(emulator)

    def look(self, emulator):
        brightest = np.maximum(emulator.grey[-2], emulator.grey[-1])
        self.seen.append(cv2.resize(brightest, (84, 84), interpolation=cv2.INTER_AREA))
        return np.array(self.seen[-4:])

    def life_lost(self, emulator):
        return np.array(self.seen[-4:])


class Universe:
    """The last frame in colour, cut, made smaller twice, and the mean of its colours."""

    def begin(self, emulator):
        return self.look(emulator)

    def look(self, emulator):
        picture = cv2.resize(emulator.colour[-1][34:194, :160], (80, 80), interpolation=cv2.INTER_LINEAR)
        picture = cv2.resize(picture, (42, 42), interpolation=cv2.INTER_LINEAR)
        return (picture.astype(float).sum(axis=2) / 3 / 255)[None]


class A3G:
    """Brightest of three frames, cut by the table, 80 pixels, grey, and normalised by all that was seen before."""

    def __init__(self, first=34, last=194):
        self.first, self.last = first, last
        self.count, self.mean, self.deviation = 0, 0.0, 0.0

    def begin(self, emulator):
        self.look(emulator)
        for action in (1, 2):
            emulator.hold(action)
            seen = self.look(emulator)
        return seen

    def look(self, emulator):
        brightest = np.max(emulator.colour[-3:], axis=0)[self.first : self.last, :160]
        small = cv2.resize(brightest, (80, 80), interpolation=cv2.INTER_AREA).astype(float)
        grey = 0.2989 * small[..., 0] + 0.587 * small[..., 1] + 0.114 * small[..., 2]
        self.count += 1
        self.mean = 0.9999 * self.mean + 0.0001 * grey.mean()
        self.deviation = 0.9999 * self.deviation + 0.0001 * grey.std()
        bias = 1 - 0.9999**self.count
        return ((grey - self.mean / bias) / (self.deviation / bias + 1e-8))[None]

    def life_lost(self, emulator):
        emulator.hold(0)
        return self.look(emulator)


class OCD:
    """Brightest of two frames in colour, luminance, 84 pixels, four of these; real no-op steps at the start."""

    def begin(self, emulator):
        emulator.hold(0, frames=1)
        self.seen = []
        self.look(emulator)
        for _ in range(3):
            emulator.hold(0)
            seen = self.look(emulator)
        return seen

    def look(self, emulator):
        brightest = np.maximum(emulator.colour[-2], emulator.colour[-1])
        luma = cv2.cvtColor(brightest, cv2.COLOR_RGB2GRAY)
        self.seen.append(cv2.resize(luma, (84, 84), interpolation=cv2.INTER_LINEAR) / 255)
        return np.array(self.seen[-4:])

    def life_lost(self, emulator):
        return np.array(self.seen[-4:])


class OCDPong:
    """The last frame, every second pixel of the field, black or white, with a border of two; four of these."""

    def begin(self, emulator):
        self.seen = []
        self.look(emulator)
        for _ in range(3):
            emulator.hold(0)
            seen = self.look(emulator)
        return seen

    def look(self, emulator):
        sums = emulator.colour[-1].astype(int).sum(axis=2)[34:194:2, 0:160:2]
        picture = np.zeros((84, 84))
        picture[2:82, 2:82] = sums > 306  # 0.4 × 3 × 255
        self.seen.append(picture)
        return np.array(self.seen[-4:])


@pytest.mark.parametrize(
    ("recipe", "rom", "plain", "steps"),
    [
        ("standard", "breakout", Standard, 150),
        ("universe", "pong", Universe, 60),
        ("a3g", "breakout", A3G, 150),
        ("a3g", "space_invaders", lambda: A3G(8, 196), 40),
        ("ocd", "breakout", OCD, 150),
        ("ocd-pong", "pong", OCDPong, 60),
    ],
)
def test_the_whole_chain_agrees_with_a_plain_computation(recipe, rom, plain, steps):
    game, emulator, chain = make_game(rom, recipe), Emulator(rom, seed=3), plain()
    observation, _ = game.reset(seed=3)
    expected = chain.begin(emulator)
    random = np.random.default_rng(8)
    for _ in range(steps):
        assert np.allclose(observation, expected, rtol=1e-4, atol=2e-4)
        action = random.integers(game.action_space.n)
        observation, reward, terminated, _, info = game.step(action)
        assert reward == emulator.hold(action)
        expected = chain.look(emulator)
        assert info["game_over"] == emulator.ale.game_over()
        if terminated:
            assert np.allclose(observation, expected, rtol=1e-4, atol=2e-4)
            observation, _ = game.reset()
            if info["game_over"]:
                emulator.start()
                expected = chain.begin(emulator)
            else:
                expected = chain.life_lost(emulator)
    assert game.ale.getFrameNumber() == emulator.ale.getFrameNumber()


@pytest.mark.parametrize(("recipe", "pooled"), [("universe", 1), ("ocd-pong", 1), ("ocd", 2), ("a3g", 3)])
def test_each_recipe_takes_the_brightest_of_its_number_of_last_frames(recipe, pooled):
    frames = []
    game = make_game("pong", recipe, on_frame=lambda frame: frames.append(frame.copy()))
    game.reset()
    unlike_more, unlike_fewer = False, False
    for step in range(80):
        game.step(2 + (step // 8) % 2)
        (name, screen), *_ = game.view_stages()
        assert name == "screen"
        assert np.array_equal(screen, np.max(frames[-pooled:], axis=0))
        unlike_more |= not np.array_equal(screen, np.max(frames[-pooled - 1 :], axis=0))
        unlike_fewer |= pooled > 1 and not np.array_equal(screen, np.max(frames[-pooled + 1 :], axis=0))
    assert unlike_more
    assert unlike_fewer == (pooled > 1)


def test_the_standard_recipe_takes_the_brightest_of_two_grey_frames():
    game = make_game("pong")
    game.reset()
    for step in range(40):
        game.step(2 + step % 2)
        assert len(game.screens) == 2
        assert np.array_equal(game.view_stages()[0][1], np.maximum(game.screens[0], game.screens[1]))
        assert np.array_equal(game.screens[1], game.ale.getScreenGrayscale())


def test_image_size_and_stack_change_the_standard_observation():
    protocol = dataclasses.replace(PROTOCOLS["a3c-2016"], noops=0)
    game = AtariGame("pong", protocol, make_recipe("standard", (42, 40), frame_stack=2))
    assert game.observation_space.shape == (2, 42, 40)
    assert game.reset()[0].shape == (2, 42, 40)


def test_a_new_game_begins_with_black_pictures_below_the_first():
    observation, _ = make_game("pong").reset()
    assert (observation[:3] == 0).all()
    assert observation[3].max() > 0


# Starts


def test_noop_starts_differ_between_seeds_and_stay_within_their_limit():
    game = make_game("freeway", noops=30)
    waited, pictures = [], set()
    for seed in range(4):
        observation, _ = game.reset(seed=seed)
        waited.append(game.ale.getEpisodeFrameNumber())
        pictures.add(observation.tobytes())
    assert len(set(waited)) > 2
    assert len(pictures) > 2
    assert all(0 <= frames <= 30 for frames in waited)


def test_noop_starts_use_their_whole_range():
    game = make_game("pong", noops=3, fire_reset=False)
    game.reset(seed=0)
    waited = set()
    for _ in range(40):
        game.game_over = True
        game.reset()
        waited.add(game.ale.getEpisodeFrameNumber())
    assert waited == {0, 1, 2, 3}


def test_a3g_always_waits_at_least_one_frame():
    game = make_game("pong", "a3g", noops=2, fire_reset=False)
    game.reset(seed=0)
    waited = set()
    for _ in range(30):
        game.game_over = True
        game.reset()
        waited.add(game.ale.getEpisodeFrameNumber())
    assert waited == {1, 2}


def test_the_same_seed_begins_the_same_game():
    game = make_game("breakout", protocol="gym-v0", noops=30)
    first, _ = game.reset(seed=4)
    record = play(game, 60)
    second, _ = game.reset(seed=4)
    assert np.array_equal(first, second)
    assert same(record, play(game, 60))


def test_different_seeds_stick_to_different_actions():
    game = make_game("breakout", sticky=0.25)
    game.reset(seed=4)
    record = play(game, 60)
    game.reset(seed=5)
    assert not same(record, play(game, 60))


@pytest.mark.parametrize(("fire", "frames"), [(True, 1), (False, 0)])
def test_fire_at_the_start_lasts_one_frame(fire, frames):
    game = make_game("breakout", fire_reset=fire)
    game.reset()
    assert game.ale.getEpisodeFrameNumber() == frames


def test_games_without_a_fire_button_start_without_it():
    game = make_game("freeway")
    game.reset()
    assert "FIRE" not in game.names
    assert game.ale.getEpisodeFrameNumber() == 0


@pytest.mark.parametrize(("full", "actions"), [(False, 4), (True, 18)])
def test_full_actions_are_all_eighteen(full, actions):
    game = make_game("breakout", full_actions=full)
    assert game.action_space.n == len(game.names) == actions
    assert game.names[:2] == ["NOOP", "FIRE"]


# Ends


def test_a_lost_life_ends_the_episode_while_the_game_goes_on():
    game = make_game("breakout")
    game.reset()
    ends, before = [], 0
    while not ends or not ends[-1][0]:
        observation, _, terminated, truncated, info = game.step(1)
        frame = game.ale.getEpisodeFrameNumber()
        assert frame > before
        before = frame
        assert not truncated
        assert terminated or not info["game_over"]
        if terminated:
            ends.append((info["game_over"], game.ale.lives()))
            if not info["game_over"]:
                following, info = game.reset()
                assert info == {"game_over": False}
                assert np.array_equal(following, observation)
                assert game.ale.getEpisodeFrameNumber() == frame
    assert ends == [(False, 4), (False, 3), (False, 2), (False, 1), (True, 0)]
    game.reset()
    assert game.ale.lives() == 5
    assert game.ale.getEpisodeFrameNumber() == 1


def test_a_lost_life_is_followed_by_a_noop_step_under_a3g():
    game = make_game("breakout", "a3g")
    game.reset()
    while not game.step(1)[2]:
        pass
    frame = game.ale.getEpisodeFrameNumber()
    game.reset()
    assert game.ale.getEpisodeFrameNumber() == frame + 4


def test_whole_games_end_only_with_the_last_life():
    game = make_game("breakout", life_loss=False)
    game.reset()
    terminated = False
    while not terminated:
        assert game.ale.lives() > 0
        _, _, terminated, _, info = game.step(1)
        assert info["game_over"] == terminated
    assert game.ale.lives() == 0


def test_the_frame_limit_truncates_and_the_next_game_is_new():
    game = make_game("pong", frame_limit=41)
    game.reset()
    for _ in range(9):
        _, _, terminated, truncated, info = game.step(0)
        assert (terminated, truncated, info["game_over"]) == (False, False, False)
    _, _, terminated, truncated, info = game.step(0)
    assert (terminated, truncated, info["game_over"]) == (False, True, True)
    game.reset()
    assert game.ale.getEpisodeFrameNumber() == 1


@pytest.mark.parametrize(("protocol", "skips"), [("gym-v4", {2, 3, 4}), ("a3c-2016", {4}), ("machado-2018", {5})])
def test_frames_per_step_are_what_the_protocol_says(protocol, skips):
    game = make_game("pong", protocol=protocol)
    game.reset(seed=0)
    seen = set()
    for _ in range(60):
        before = game.ale.getEpisodeFrameNumber()
        game.step(0)
        seen.add(game.ale.getEpisodeFrameNumber() - before)
    assert seen == skips


def test_rewards_are_the_raw_score():
    game = make_game("space_invaders")
    game.reset()
    assert sum(entry[1] for entry in play(game, 150)) >= 5
    assert {entry[1] for entry in play(game, 150)} - {0.0, 1.0}


# Filming, looking, and what is carried along


def test_every_frame_is_filmed_in_colour():
    frames = []
    game = make_game("pong", on_frame=frames.append)
    game.reset()
    for _ in range(5):
        game.step(0)
    assert len(frames) == game.ale.getEpisodeFrameNumber() == 21
    assert all(frame.shape == (210, 160, 3) for frame in frames)


def test_the_last_stage_that_is_viewed_is_the_newest_picture():
    game = make_game("pong", "universe")
    game.reset()
    observation = play(game, 5)[-1][0]
    views = game.view_stages()
    assert [name for name, _ in views] == ["screen", "crop", "resize 80", "resize 42", "mean of colours", "scale"]
    assert np.array_equal(views[-1][1], observation[-1])


def test_looking_at_stages_does_not_change_what_is_learned():
    watched, alone = make_game("pong", "a3g"), make_game("pong", "a3g")
    watched.reset()
    alone.reset()
    for step in range(20):
        learned = watched.carried()
        assert len(watched.view_stages()) == 5
        assert watched.carried() == learned == alone.carried()
        assert np.array_equal(watched.step(step % 6)[0], alone.step(step % 6)[0])
    assert learned["count"] == 3 + 19


def test_building_a_game_teaches_its_normaliser_nothing():
    assert make_game("pong", "a3g").carried() == {"mean": 0.0, "deviation": 0.0, "count": 0}


def test_what_is_learned_survives_new_games():
    game = make_game("pong", "a3g", frame_limit=30)
    game.reset()
    counts = []
    for _ in range(3):
        truncated = False
        while not truncated:
            truncated = game.step(0)[3]
        counts.append(game.carried()["count"])
        game.reset()
    assert counts == sorted(set(counts))
    assert counts[0] > 1


def test_carried_knowledge_can_be_given_to_another_game():
    first, second = make_game("pong", "a3g"), make_game("pong", "a3g")
    first.reset()
    play(first, 10)
    second.load_carried(first.carried())
    assert second.carried() == first.carried()
    assert first.carried()["count"] == 13


def test_recipes_that_learn_nothing_carry_nothing():
    game = make_game("pong")
    game.reset()
    assert game.carried() == {}


# Saving


@pytest.mark.parametrize(
    ("recipe", "protocol", "rules"),
    [
        ("standard", "a3c-2016", {"noops": 30}),
        ("standard", "gym-v4", {"noops": 30}),  # a random frame-skip
        ("standard", "a3c-2016", {"frame_skip": (1, 1)}),  # pictures pooled across steps
        ("a3g", "a3g", {"noops": 30}),
        ("ocd", "ocd", {}),
    ],
)
def test_a_saved_game_replays_exactly(recipe, protocol, rules):
    game = make_game("breakout", recipe, protocol, **rules)
    game.reset(seed=2)
    play(game, 30, seed=1)
    saved = game.save_state()
    record = play(game, 150, seed=2)
    assert any(entry[2] for entry in record)
    game.load_state(saved)
    assert same(record, play(game, 150, seed=2))
    fresh = make_game("breakout", recipe, protocol, **rules)
    fresh.load_state(saved)
    assert same(record, play(fresh, 150, seed=2))


@pytest.mark.parametrize("into", ["the same game", "a fresh game"])
def test_a_saved_game_with_sticky_actions_replays_exactly(into):
    game = make_game("breakout", sticky=0.9)
    game.reset(seed=0)
    for _ in range(4):
        game.step(2)
    saved = game.save_state()
    record = [game.step(3)[0] for _ in range(10)]
    if into == "a fresh game":
        game = make_game("breakout", sticky=0.9)
    game.load_state(saved)
    assert all(np.array_equal(game.step(3)[0], observation) for observation in record)


def test_a_saved_game_of_qbert_replays_exactly_in_a_fresh_one():
    game, fresh = make_game("qbert"), make_game("qbert")
    game.reset()
    play(game, 5)
    fresh.load_state(game.save_state())
    assert same(play(game, 20), play(fresh, 20))


def test_a_saved_state_is_not_changed_by_playing_on():
    game = make_game("breakout", "a3g")
    game.reset()
    saved = game.save_state()
    pictures = [picture.copy() for picture in saved["pictures"]]
    count = saved["carried"]["count"]
    play(game, 30)
    assert all(np.array_equal(a, b) for a, b in zip(pictures, saved["pictures"], strict=True))
    assert saved["carried"]["count"] == count
