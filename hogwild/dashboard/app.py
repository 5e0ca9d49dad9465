"""The web application: which address is answered by what. It reads the runs folder, and changes nothing in it but by
evaluations and films that somebody asked for."""

import math
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from hogwild.comparison_runs import AXES
from hogwild.dashboard.catalogue import Catalogue
from hogwild.dashboard.curves import MOST_POINTS, Curves, Wanted, by_method
from hogwild.dashboard.guard import App
from hogwild.dashboard.jobs import Jobs
from hogwild.dashboard.json_numbers import finite
from hogwild.dashboard.playing import Sitting
from hogwild.dashboard.streams import Streams
from hogwild.errors import HogwildError
from hogwild.runs.checkpoint import list_checkpoints, step_of
from hogwild.runs.evaluations import list_videos
from hogwild.runs.folder import RunFolder, read_json

STATIC = Path(__file__).parent / "static"
MOST_RUNS, MOST_METRICS, MOST_EPISODES = 60, 60, 1000
NO_STORE = {"cache-control": "no-store"}


class Assets(StaticFiles):
    """Files of the page; their names stay from one version to the next, so browsers ask whether they are still new."""

    def file_response(self, *arguments: Any, **named: Any) -> Response:
        """A file, or word that it has not changed."""
        response = super().file_response(*arguments, **named)
        response.headers["cache-control"] = "no-cache"
        return response


class Site:
    """Everything that the page can ask for."""

    def __init__(self, runs: str, sitting: Sitting | None = None) -> None:
        self.catalogue = Catalogue(runs)
        self.curves = Curves(self.catalogue.tables)
        self.streams = Streams(self.catalogue)
        self.jobs = Jobs()
        self.sitting = sitting

    def routes(self) -> list[Any]:
        """Addresses, and who answers."""
        run = "/api/runs/{run}"
        return [
            Route("/api/runs", self.all_runs),
            Route("/api/news", self.news),
            Route("/api/curves", self.curves_of),
            Route("/api/jobs", self.all_jobs),
            Route("/api/jobs/{number:int}/cancel", self.cancel, methods=["POST"]),
            Route(run, self.one_run),
            Route(run + "/doctor", self.doctor),
            Route(run + "/worker/{rank:int}", self.worker),
            Route(run + "/spectator", self.spectator),
            Route(run + "/spectator", self.allow_spectator, methods=["POST"]),
            Route(run + "/jobs", self.new_job, methods=["POST"]),
            Route(run + "/videos/{video}", self.video),
            Route("/api/spectators/{number:int}", self.tell_spectator, methods=["POST"]),
            Route("/api/play", self.play),
            Route("/api/play/start", self.play_start, methods=["POST"]),
            Route("/api/play/step", self.play_step, methods=["POST"]),
            Mount("/assets", Assets(directory=STATIC / "assets", check_dir=False)),
            Route("/{path:path}", self.page),
        ]

    def folder(self, request: Request) -> RunFolder:
        """The run that the address names."""
        found = self.catalogue.find(request.path_params["run"])
        if found is None:
            raise HTTPException(404, "There is no such run.")
        return found

    async def page(self, request: Request) -> Response:
        """The page itself, whatever part of it the address names; what is not there is not found."""
        if request.url.path.startswith("/api/"):
            raise HTTPException(404, "There is nothing here.")
        return FileResponse(STATIC / "index.html", headers={"cache-control": "no-cache"})

    async def all_runs(self, request: Request) -> Response:  # noqa: ARG002
        """The table, for programs: the page hears of it by `news`."""
        return JSONResponse(finite(await run_in_threadpool(self.catalogue.rows)), headers=NO_STORE)

    async def one_run(self, request: Request) -> Response:
        """Everything about a run."""
        details = await run_in_threadpool(self.catalogue.details, self.folder(request))
        return JSONResponse(finite(details), headers=NO_STORE)

    async def doctor(self, request: Request) -> Response:
        """What looks wrong."""
        return JSONResponse(await run_in_threadpool(self.catalogue.findings, self.folder(request)), headers=NO_STORE)

    async def curves_of(self, request: Request) -> Response:
        """Curves of several runs and metrics."""
        return JSONResponse(await run_in_threadpool(self._curves, request.query_params), headers=NO_STORE)

    def _curves(self, query: Mapping[str, str]) -> list[dict[str, Any]]:
        names = split_names(query.get("runs", ""))[:MOST_RUNS]
        folders = [folder for name in names if (folder := self.catalogue.find(name)) is not None]
        metrics = [name for name in query.get("metrics", "").split(",") if name][:MOST_METRICS]
        wanted = wanted_part(query)
        groups = by_method(folders) if query.get("seeds") == "together" else [[folder] for folder in folders]
        found = []
        for group in groups:
            for metric in metrics:
                alone = len(group) == 1
                curve = self.curves.one(group[0], metric, wanted) if alone else self.curves.many(group, metric, wanted)
                found.append({"runs": [f.name for f in group], "metric": metric, **curve.as_json()})
        return found

    async def news(self, request: Request) -> Response:  # noqa: ARG002
        """Rows as they change."""
        return self.streams.news()

    async def worker(self, request: Request) -> Response:
        """What a worker plays."""
        folder, rank = self.folder(request), request.path_params["rank"]
        if rank not in [worker.get("rank") for worker in read_json(folder.status).get("workers", [])]:
            raise HTTPException(404, "There is no such worker.")
        return self.streams.worker(folder, rank)

    async def spectator(self, request: Request) -> Response:
        """A game of its own."""
        return self.streams.spectator(self.folder(request))

    async def allow_spectator(self, request: Request) -> Response:
        """Somebody wants the module of a run's environment to be imported."""
        self.streams.allowed.add(self.folder(request).name)
        return JSONResponse({"allowed": True})

    async def tell_spectator(self, request: Request) -> Response:
        """What a spectator is to show."""
        known = ("speed", "paused", "saliency", "layers")
        options = {name: value for name, value in (await body(request)).items() if name in known}
        return JSONResponse({"told": self.streams.tell(request.path_params["number"], options)})

    async def all_jobs(self, request: Request) -> Response:  # noqa: ARG002
        """Jobs and how far they are."""
        return JSONResponse(finite([job.as_json() for job in self.jobs.jobs]), headers=NO_STORE)

    async def new_job(self, request: Request) -> Response:
        """Evaluate or film a checkpoint."""
        folder, given = self.folder(request), await body(request)
        steps = {path.name: step_of(path) for path in list_checkpoints(folder.checkpoints)}
        kind, checkpoint, episodes = given.get("kind"), given.get("checkpoint"), given.get("episodes", 100)
        if kind not in ("evaluate", "film") or not isinstance(checkpoint, str) or checkpoint not in steps:
            raise HTTPException(400, "Which checkpoint, and what to do with it?")
        if not isinstance(episodes, int) or not 1 <= episodes <= MOST_EPISODES:
            raise HTTPException(400, f"From 1 to {MOST_EPISODES} episodes.")
        job = self.jobs.add(folder, kind, str(steps[checkpoint]), episodes, bool(given.get("greedy")))
        if job is None:
            raise HTTPException(429, "Too many jobs are waiting.")
        return JSONResponse(job.as_json())

    async def cancel(self, request: Request) -> Response:
        """End a job."""
        return JSONResponse({"cancelled": self.jobs.cancel(request.path_params["number"])})

    async def video(self, request: Request) -> Response:
        """A film."""
        wanted = request.path_params["video"]
        for path in list_videos(self.folder(request)):
            if path.name == wanted:
                return FileResponse(path, media_type="video/mp4")
        raise HTTPException(404, "There is no such film.")

    async def play(self, request: Request) -> Response:  # noqa: ARG002
        """What there is to play, if anything."""
        return JSONResponse(None if self.sitting is None else self.sitting.describe(), headers=NO_STORE)

    async def play_start(self, request: Request) -> Response:  # noqa: ARG002
        """A new game."""
        return await self._played(lambda sitting: sitting.start())

    async def play_step(self, request: Request) -> Response:
        """One action."""
        action = (await body(request)).get("action", 0)
        if not isinstance(action, int):
            raise HTTPException(400, "An action is a whole number.")
        return await self._played(lambda sitting: sitting.step(action))

    async def _played(self, move: Any) -> Response:
        if self.sitting is None:
            raise HTTPException(404, "Nothing is being played: hogwild play ENV")
        try:  # in this thread: emulators and windows belong to the one that made them, and a step takes milliseconds
            return JSONResponse(finite(move(self.sitting)), headers=NO_STORE)
        except HogwildError as error:
            raise HTTPException(500, str(error)) from None


def wanted_part(query: Mapping[str, str]) -> Wanted:
    """The part of curves that a query asks for; what makes no sense is refused."""

    def number(name: str) -> float | None:
        try:
            value = float(query[name])
        except KeyError:
            return None
        except ValueError:
            raise HTTPException(400, f"{name} is a number.") from None
        if not math.isfinite(value):
            raise HTTPException(400, f"{name} is a number.")
        return value

    by = query.get("by", "steps")
    if by not in AXES:
        raise HTTPException(400, f"by is one of {', '.join(AXES)}.")
    points = min(max(int(number("points") or 600), 2), MOST_POINTS)
    smooth = min(max(number("smooth") or 0.0, 0.0), 0.999)
    return Wanted(by, number("from"), number("to"), points, smooth, query.get("log") == "1")


def split_names(text: str) -> list[str]:
    """Names of runs between commas; one in a name is written %2C, as `joinNames` of the page does it.

    >>> split_names("a,b%2Cc,100%25")
    ['a', 'b,c', '100%']
    """
    return [name.replace("%2C", ",").replace("%25", "%") for name in text.split(",") if name]


async def body(request: Request) -> dict[str, Any]:
    """What was sent: a JSON object."""
    try:
        content = await request.json()
    except ValueError:
        content = None
    if not isinstance(content, dict):
        raise HTTPException(400, "A JSON object is expected.")
    return content


async def refuse(request: Request, error: Exception) -> Response:  # noqa: ARG001
    """A refusal in words."""
    assert isinstance(error, HTTPException)
    return JSONResponse({"error": error.detail}, error.status_code)


def make_app(site: Site) -> App:
    """The application; whoever serves it puts a `Guard` around it."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:  # noqa: ARG001
        yield
        await site.jobs.close()

    return Starlette(routes=site.routes(), lifespan=lifespan, exception_handlers={HTTPException: refuse})
