"""The shape of the house: who may know whom, how long things may get, and that examples in docstrings are true."""

import ast
import doctest
import importlib
import pkgutil
from pathlib import Path

import pytest

import hogwild

PACKAGE = Path(hogwild.__file__).parent
# Rooms from the ground up: a module may import from its own room and from those before it.
ROOMS = [
    [
        "hogwild.errors",
        "hogwild.machine",
        "hogwild.images",
        "hogwild.helper_process",
        "hogwild.signals",
        "hogwild.alarm",
    ],
    ["hogwild.files", "hogwild.shareable"],
    ["hogwild.faults.events", "hogwild.faults.pulse"],
    ["hogwild.config", "hogwild.own"],
    ["hogwild.maths", "hogwild.threads"],
    ["hogwild.policies"],
    ["hogwild.live", "hogwild.rollout", "hogwild.inputs"],
    ["hogwild.objectives"],
    ["hogwild.envs"],
    ["hogwild.optimizers", "hogwild.acting", "hogwild.learning", "hogwild.eyes"],
    [
        "hogwild.report",
        "hogwild.stopwatch",
        "hogwild.link",
        "hogwild.input_sums",
        "hogwild.turns",
        "hogwild.lesson",
        "hogwild.worker",
        "hogwild.hooks",
    ],
    ["hogwild.exchanges"],
    ["hogwild.faults"],
    ["hogwild.validate", "hogwild.resolve", "hogwild.misfits", "hogwild.checking"],
    ["hogwild.engines"],
    ["hogwild.onlookers", "hogwild.runs", "hogwild.progress", "hogwild.reference", "hogwild.doctor", "hogwild.rounds"],
    [
        "hogwild.session",
        "hogwild.closeup",
        "hogwild.display",
        "hogwild.diary",
        "hogwild.training",
        "hogwild.replay",
    ],
    [
        "hogwild.probe",
        "hogwild.agent",
        "hogwild.evaluation",
        "hogwild.video",
        "hogwild.bench",
        "hogwild.tuning",
        "hogwild.api",
        "hogwild.verifying",
        "hogwild.machine_check",
    ],
    ["hogwild.deployed", "hogwild.exporting", "hogwild.publishing", "hogwild.searching"],
    ["hogwild.watching", "hogwild.inspection", "hogwild.inspection_page"],
    ["hogwild.comparison_runs", "hogwild.comparison", "hogwild.comparison_report"],
    ["hogwild.dashboard"],
    ["hogwild.cli"],
    ["hogwild.__init__", "hogwild.__main__"],
]
MODULES = sorted(".".join(("hogwild", *p.relative_to(PACKAGE).with_suffix("").parts)) for p in PACKAGE.rglob("*.py"))
LONGEST_FILE, LONGEST_FUNCTION, MOST_PARAMETERS = 300, 60, 8


def source(module: str) -> Path:
    return PACKAGE.joinpath(*module.split(".")[1:]).with_suffix(".py")


def room_of(module: str) -> int:
    for index, room in enumerate(ROOMS):
        if any(module == name or module.startswith(name + ".") for name in room):
            return index
    raise AssertionError(f"{module} has no room: add it to ROOMS")


def imports_of(module: str) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(source(module).read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("hogwild"):
            found.add(node.module)
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name.startswith("hogwild")}
    return found - {"hogwild"}


@pytest.mark.parametrize("module", [m for m in MODULES if m != "hogwild.__init__"])
def test_dependencies_point_one_way(module: str) -> None:
    upwards = [name for name in imports_of(module) if room_of(name) > room_of(module)]
    assert not upwards, f"{module} reaches up to {upwards}"


@pytest.mark.parametrize("module", MODULES)
def test_files_and_functions_fit_on_a_screen(module: str) -> None:
    text = source(module).read_text()
    assert text.count("\n") <= LONGEST_FILE
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert (node.end_lineno or 0) - node.lineno < LONGEST_FUNCTION, node.name
            count = len(node.args.args) + len(node.args.kwonlyargs)
            assert count <= MOST_PARAMETERS + (node.args.args[:1] == []), f"{node.name}: {count} parameters"


@pytest.mark.parametrize("module", [m for m in MODULES if not m.endswith("__main__")])
def test_examples_in_docstrings_are_true(module: str) -> None:
    name = module.removesuffix(".__init__")
    failures, _ = doctest.testmod(importlib.import_module(name))
    assert failures == 0


def test_every_public_name_is_there_and_importing_the_package_is_light() -> None:
    import subprocess
    import sys

    for name in hogwild.__all__:
        assert getattr(hogwild, name) is not None
    script = "import sys, hogwild; sys.exit('torch' in sys.modules or 'gymnasium' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_every_module_is_found_by_walking_the_package() -> None:
    walked = {m.name for m in pkgutil.walk_packages([str(PACKAGE)], "hogwild.")}
    assert {m for m in MODULES if not m.endswith("__init__")} <= walked


def lines_of_code(text: str) -> int:
    """Lines that do something: without blank lines, comments and docstrings."""
    tree = ast.parse(text)
    told: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            told |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    lines = enumerate(text.splitlines(), start=1)
    return sum(bool(line.strip()) and not line.strip().startswith("#") and number not in told for number, line in lines)


def test_to_read_one_objective_exchange_and_engine_takes_at_most_1500_lines() -> None:
    """Lines of code, from the loop down: everything that one must open to follow A3C on shared weights in processes."""
    seen: set[str] = set()
    waiting = {"hogwild.worker", "hogwild.engines.processes", "hogwild.exchanges.weights", "hogwild.objectives.a3c"}
    waiting |= {"hogwild.engines.worker_process"}
    aside = (
        "hogwild.envs",
        "hogwild.policies",
        "hogwild.config",
        "hogwild.errors",
        "hogwild.faults",
    )  # rooms of their own
    switches = {"hogwild.objectives", "hogwild.exchanges.make"}  # they only choose one of several
    # How processes are started and replaced, and memory shared, changes nothing in what they do.
    aside += ("hogwild.engines.supervisor", "hogwild.engines.member", "hogwild.engines.spawning", "hogwild.shareable")
    aside += ("hogwild.signals",)
    while waiting:
        module = waiting.pop()
        path = source(module)
        if module in seen | switches or module.startswith(aside):
            continue
        seen.add(module)
        waiting |= imports_of(module) if path.exists() else imports_of(module + ".__init__")
    lines = sum(lines_of_code(source(m).read_text()) for m in seen if source(m).exists())
    assert lines <= 1500, f"{lines} lines in {sorted(seen)}"
