"""Draws that last: each by itself as random as ever, together alike for as long as was asked for."""

import torch

from hogwild.maths import categorical
from hogwild.maths.persistence import hold, spread


def test_a_draw_is_kept_exactly_where_it_should_be() -> None:
    fresh, last = torch.rand(20, 3, generator=torch.Generator().manual_seed(1)), torch.tensor([0.1, 0.2, 0.3])
    kept = torch.rand(20, 3, generator=torch.Generator().manual_seed(2)) < 0.5
    held = hold(fresh, kept, last)
    for env in range(3):
        before = last[env].item()
        for t in range(20):
            before = before if kept[t, env] else fresh[t, env].item()
            assert held[t, env].item() == before


def test_environments_range_from_none_to_all_of_it() -> None:
    assert spread(0.9, 1).tolist() == [torch.tensor(0.9).item()]
    torch.testing.assert_close(spread(0.8, 5), torch.tensor([0.0, 0.2, 0.4, 0.6, 0.8]))
    fresh = torch.rand(20_000, 4, generator=torch.Generator().manual_seed(0))
    kept = torch.rand(fresh.shape, generator=torch.Generator().manual_seed(1)) < spread(0.9, 4)
    held = hold(fresh, kept, torch.zeros(4))
    repeated = (held[1:] == held[:-1]).float().mean(0)
    torch.testing.assert_close(repeated, spread(0.9, 4), atol=0.01, rtol=0)


def test_where_nothing_is_seen_single_steps_follow_the_policy() -> None:
    """In general they do not quite: what is seen hangs on the draws of before."""
    probabilities = torch.tensor([0.1, 0.6, 0.3])
    generator = torch.Generator().manual_seed(0)
    fresh, last = torch.rand(3, 100_000, generator=generator), torch.rand(100_000, generator=generator)
    held = hold(fresh, torch.rand(fresh.shape, generator=generator) < 0.9, last)
    for draw in held:
        actions = categorical.sample(probabilities.log().expand(100_000, 3), draw)
        torch.testing.assert_close(torch.bincount(actions) / 100_000, probabilities, atol=5e-3, rtol=0)
