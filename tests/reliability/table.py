"""The fault table: what can go wrong, what happens then, and which tests show it. `python -m tests.reliability.table`
writes it into docs/reliability.md."""

import ast
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reliability.md"
BEGIN, END = "<!-- written by tests/reliability/table.py -->", "<!-- end -->"


@dataclass(frozen=True)
class Row:
    """One thing that can go wrong."""

    number: int
    fault: str
    then: str
    why_not: str = ""  # why it cannot happen here


GROUPS: dict[str, list[Row]] = {
    "Processes that are killed or stand still": [
        Row(1, "a worker is killed", "seen within a second, its unfinished rollout dropped, replaced with a new seed"),
        Row(
            2,
            "a worker is killed while it writes into a slot",
            "the slot is not handed over, or its checksum is wrong and it is thrown away",
        ),
        Row(3, "a worker is killed while it changes the weights", "nobody waits for it; the weights stay finite"),
        Row(4, "an inference server is killed", "", "workers run their own policy; there is no such server"),
        Row(
            5,
            "the updater or learner is killed",
            "replaced; what it had taken is dropped and counted; weights live on in shared memory",
        ),
        Row(6, "the coordinator is killed", "nobody outlives it by five seconds, not even who is stopped"),
        Row(
            7,
            "the dashboard is killed",
            "",
            "it only reads the files of runs, in a process that training does not know of",
        ),
        Row(8, "the writer of metrics is killed", "", "the coordinator writes them: row 6"),
        Row(9, "an evaluation or film is killed", "films and figures appear whole or not at all"),
        Row(10, "all workers are killed at once", "all are replaced"),
        Row(11, "a worker dies again and again", "the run ends with the worker's own words, its traceback in the log"),
        Row(
            12,
            "a worker is stopped for a while",
            "the others go on, and it joins again; if it held the lock, it is replaced; at the `barrier` they wait",
        ),
        Row(13, "the learner is stopped for a while", "workers wait once their slots are full; memory does not grow"),
        Row(14, "the dashboard is stopped", "", "training sends it nothing: row 7"),
        Row(15, "SIGTERM", "checkpoint, exit code 143"),
        Row(16, "Ctrl-C", "checkpoint, exit code 130"),
        Row(17, "Ctrl-C twice", "ends at once; the last checkpoint is whole"),
        Row(18, "Ctrl-C during a save", "the save is finished first: signals are only remembered"),
        Row(19, "Ctrl-C while workers load", "ends in order, nobody is left"),
        Row(20, "the terminal is closed (SIGHUP)", "checkpoint, exit code 129; under nohup training goes on"),
        Row(21, "the reader of the output goes away", "training goes on in silence"),
    ],
    "Environments": [
        Row(22, "raises in step", "the episode is lost and counted, the environment made anew; a capsule is kept"),
        Row(23, "raises in every reset", "the run ends with what it said"),
        Row(24, "segfaults", "its worker is replaced; the signal is named; a capsule is kept"),
        Row(25, "calls sys.exit or os._exit", "the first costs its episode, the second its worker"),
        Row(
            26,
            "hangs in step",
            "its worker is killed after --env-timeout and replaced; a capsule is kept; on `inline` it costs its "
            "episode, on `threads` the run ends",
        ),
        Row(27, "hangs in reset or close", "the same; in the first look the run is refused; close is not waited for"),
        Row(
            28, "observations that are no numbers", "the episode is lost; nothing reaches the normaliser or the network"
        ),
        Row(29, "rewards that are no numbers", "the same"),
        Row(
            30,
            "observations of another shape",
            "the same; at the first reset the run is refused; outside their space: said once",
        ),
        Row(31, "the old step of four things", "the same"),
        Row(32, "a reward of 1e38", "the update is left out if it is not finite; weights stay finite"),
        Row(33, "leaks memory", "its worker is replaced at --worker-memory"),
        Row(34, "leaks files", "its worker is replaced before there are none left"),
        Row(35, "one is a hundred times slower", "the others go on as before"),
        Row(36, "prints megabytes", "the first of them is kept in the run's folder; nobody waits for it"),
        Row(37, "an unknown id", "refused in one line with the nearest name, exit code 2"),
    ],
    "Numbers": [
        Row(38, "a loss that is no number", "the update is left out, counted and kept for `hogwild inspect`"),
        Row(39, "many in a row", "back to the last good weights, three times at most, or the end (--when-not-finite)"),
        Row(40, "a gradient that is infinite", "as row 38"),
        Row(41, "weights that are no numbers", "back to the last good ones; they never reach a checkpoint"),
        Row(42, "rollouts that are too old", "dropped and counted, or corrected (--max-lag)"),
        Row(43, "a learner that runs out of memory", "as row 5; the message says that memory may have run out"),
        Row(44, "a policy that always does the same", "the doctor warns"),
    ],
    "Disks and checkpoints": [
        Row(45, "killed during a save", "a hundred times: the newest whole checkpoint is read"),
        Row(
            46,
            "the disk is full at a save",
            "said once with what is needed and what is free; training goes on and tries again",
        ),
        Row(47, "the disk is full for metrics", "the same"),
        Row(48, "a folder that is read-only from the start", "refused at the start"),
        Row(49, "a folder that becomes read-only", "as row 46"),
        Row(50, "a file that was cut off", "refused by name; the checkpoint before it is taken"),
        Row(51, "one flipped bit", "the same"),
        Row(52, "a manifest that is missing or damaged", "the same"),
        Row(53, "leftovers of an interrupted save", "ignored, and removed by the next resume"),
        Row(54, "a pickle in place of weights", "refused; nothing is executed"),
        Row(55, "weights made to do harm", "refused within a second, without taking memory"),
        Row(56, "a link, pipe or folder in place of a file, or a link in place of all", "refused"),
        Row(57, "a checkpoint of an older format", "read"),
        Row(58, "a checkpoint of a newer format", "refused: update Hogwild"),
        Row(59, "a checkpoint of another network", "refused with what differs"),
        Row(60, "a slow disk", "workers go on while a checkpoint is written"),
        Row(61, "an old checkpoint cannot be removed", "said; the newest stays"),
    ],
    "Resuming": [
        Row(
            62,
            "one worker, inline, killed and resumed",
            "bit for bit the run that was never stopped, or it is said what differs",
        ),
        Row(63, "many workers", "steps, updates, schedules, optimizer, normaliser, best result and time go on"),
        Row(64, "a run that has reached its end", "says so, exit code 0"),
        Row(65, "other settings", "what fits is taken, what does not is refused"),
        Row(66, "another number of workers", "works"),
        Row(67, "killed and resumed again and again", "steps never go back behind a checkpoint"),
    ],
    "The machine": [
        Row(68, "little shared memory, as in containers", "works: it is not used"),
        Row(69, "few files may be open", "works, or is refused with the number that is needed"),
        Row(70, "no more processes may be started", "refused in words; nobody is left"),
        Row(71, "two trainings in one folder", "the second is refused and told by whom; a claim dies with its process"),
        Row(72, "the clock jumps", "nothing happens: durations are measured on a clock that does not"),
        Row(73, "settings that make no sense", "all complaints at once, exit code 2, before anything starts"),
        Row(74, "an hour of training", "memory, files and shared memory stay flat"),
    ],
    "Several machines": [
        Row(75, "a machine is killed", "seen at once, by its broken connection; the others go on at their speed"),
        Row(
            76,
            "a machine vanishes without a word",
            "missed after three seconds; nobody waits for it; nothing is applied twice",
        ),
        Row(77, "it is cut off for a while", "joins again by itself; what it sent meanwhile is not learned from"),
        Row(78, "a slow line", "slows its own machine only; the lag shows. Delay and loss were not tested"),
        Row(79, "no token, a wrong one, or rubbish on Ray's port", "turned away; training goes on"),
        Row(
            80,
            "the port is taken, or the first machine is lost",
            "said; machines join the new one by themselves, and `hogwild resume` goes on",
        ),
    ],
    "The dashboard attacked": [
        Row(81, "paths, hosts, origins, tokens, scripts, floods", "404, 403, 401, text, 413 or 400; training goes on"),
        Row(
            82,
            "many viewers, some of whom never read",
            "200 see what changes within a second, who never reads is not waited for; more than 256 are told so",
        ),
    ],
}


def rows_of_tests() -> dict[int, list[str]]:
    """Names of tests by the row that they are marked with, from their source."""
    found: dict[int, list[str]] = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef):
                for mark in node.decorator_list:
                    if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.fault":
                        number = ast.literal_eval(mark.args[0])
                        found.setdefault(number, []).append(f"{path.relative_to(ROOT / 'tests')}::{node.name}")
    return found


def table() -> str:
    """The table as Markdown."""
    tests, lines = rows_of_tests(), []
    for title, rows in GROUPS.items():
        lines += [f"### {title}", "", "| | what goes wrong | what happens | tests |", "|---|---|---|---|"]
        for row in rows:
            shown = "<br>".join(f"`{name}`" for name in tests.get(row.number, []))
            lines.append(f"| {row.number} | {row.fault} | {row.then or f'*does not apply:* {row.why_not}'} | {shown} |")
        lines.append("")
    return "\n".join(lines)


def page() -> str:
    """The whole page with the table as it is now."""
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    return f"{before}{BEGIN}\n{table()}{END}{rest.split(END)[1]}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
