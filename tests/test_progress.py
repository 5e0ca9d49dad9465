"""Counts of a training, which go on when it is resumed."""

import json

from hogwild.faults.events import LOST, Event
from hogwild.progress import Progress
from hogwild.report import Report


def test_a_resumed_training_goes_on_counting() -> None:
    before = Progress(frames_per_step=4)
    lost = [Event(LOST, "worker 0", "the wheel came off")] * 3
    before.take(Report(0, steps=200, episodes=[(21.0, 90), (7.0, 40)], events=lost), steps=200, updates=10)
    saved = before.state()
    after = Progress(frames_per_step=4)
    after.load(json.loads(json.dumps(saved)))
    after.take(Report(0, steps=100, episodes=[(2.0, 60)], events=lost[:1]), steps=300, updates=15)
    assert (after.steps, after.updates, after.episodes, after.lost, after.best) == (300, 15, 3, 4, 21.0)
    assert after.return_mean == 10.0
    assert after.seconds > saved["seconds"] > 0
    assert after.row()["episode/lost"] == 4


def test_a_checkpoint_from_before_losses_were_counted_is_read() -> None:
    state = {name: value for name, value in Progress(frames_per_step=4).state().items() if name != "lost"}
    after = Progress(frames_per_step=4)
    after.load(state)
    assert after.lost == 0
