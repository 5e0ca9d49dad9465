"""`hogwild play ENV`"""

from dataclasses import dataclass

from hogwild.cli.arguments import Env, parse
from hogwild.cli.dashboard import PORT, check_port
from hogwild.errors import UsageError


@dataclass(frozen=True)
class Play:
    """Play with the keyboard, in the browser, and see what an agent gets of it: every stage of preprocessing, the
    stacked pictures, raw and clipped rewards, the actions.
    """

    env: Env
    """Name of a game or Gymnasium id, as in `hogwild train`."""
    against: str = ""
    """Show what the agent of this run would do in each moment; the game is then prepared as for that agent."""
    checkpoint: str = "newest"
    """Which checkpoint of it: newest, best, or the number of a step."""
    seed: int = 0
    """Seed of the games."""
    runs: str = "runs"
    """Folder that holds all runs."""
    host: str = "127.0.0.1"
    """Address to listen on; 0.0.0.0 is all of them."""
    port: int | None = None
    """Port to listen on (None: 8300, or the next one that is free; 0: any)."""
    browser: bool = True
    """Open the page in a browser."""


def main(arguments: list[str]) -> int:
    """Serve the game until Ctrl-C."""
    given = parse(Play, "play", arguments)
    check_port(given.port)
    from hogwild.dashboard.playing import Sitting
    from hogwild.dashboard.serve import serve
    from hogwild.envs.ids import plan_env
    from hogwild.resolve import layer

    settings, adviser = layer(given.env), None
    if given.against:
        import torch

        from hogwild.api import load
        from hogwild.dashboard.adviser import AgentAdviser

        torch.set_num_threads(1)
        agent = load(given.against, checkpoint=given.checkpoint, runs=given.runs)
        if agent.plan.game != plan_env(settings).game:
            raise UsageError(f"'{given.against}' was trained on '{agent.settings.env}', not on '{given.env}'.")
        adviser = AgentAdviser(agent)
        settings = agent.settings.update(env=given.env)
    sitting = Sitting(settings, adviser, given.seed)
    if adviser is not None:
        agent = adviser.agent
        if agent.spec != sitting.layout.spec:  # the same game by other rules
            raise UsageError(
                f"The agent of '{given.against}' was trained on '{agent.settings.env}', not '{given.env}'."
            )
    port, exact = (PORT, False) if given.port is None else (given.port, True)
    serve(given.runs, given.host, port, exact_port=exact, browser=given.browser, path="/play", sitting=sitting)
    return 0
