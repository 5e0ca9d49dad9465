"""The command `hogwild`: finds the sub-command, loads it, and turns errors into one message and an exit code."""

import faulthandler
import importlib
import os
import sys

COMMANDS = {
    "train": ("train", "train an agent on an environment"),
    "resume": ("resume", "go on with a run that was stopped or killed"),
    "eval": ("evaluate", "play whole games with a trained agent, and film it"),
    "runs": ("runs", "list runs"),
    "presets": ("presets", "list named settings: the agents of the literature, and ours"),
    "replay": ("replay", "repeat a recorded run exactly, and check that it was the same"),
    "show": ("show", "show one run"),
    "compare": ("compare", "compare methods by their runs: curves, intervals, a verdict"),
    "doctor": ("doctor", "say in words what looks wrong with a run, or with this machine, and what to try"),
    "watch": ("watch", "watch agents play while they train, in the terminal"),
    "dashboard": ("dashboard", "all runs in the browser, live: curves, games, the agent's eyes"),
    "play": ("play", "play yourself, and see what an agent gets of it"),
    "inspect": ("inspect", "look at what entered the network and the loss"),
    "export": ("export", "write a trained policy as ONNX, TorchScript or safetensors"),
    "publish": ("publish", "write a run as a folder for the Hugging Face hub"),
    "tune": ("tune", "search for better settings"),
    "check": ("check", "say what is wrong with an environment of your own, and what a step of it costs"),
    "verify-resume": ("verify_resume", "check that a killed and resumed run is the run that was never stopped"),
    "reproduce": ("reproduce", "play again what led to an environment's fault"),
    "node": ("node", "make this machine one of a cluster, for train --engine ray"),
    "bench": ("bench", "measure training speed beside the bare emulator's"),
}


def usage() -> str:
    """What `hogwild --help` prints."""
    width = max(map(len, COMMANDS))
    lines = "\n".join(f"  {name:<{width}}  {about}" for name, (_, about) in COMMANDS.items())
    return f"""usage: hogwild COMMAND [OPTIONS]

Asynchronous actor-critic training, for Atari and any Gymnasium environment.

commands:
{lines}

`hogwild COMMAND --help` shows all options of a command. To begin:

  hogwild train pong          train Pong until it is solved
  hogwild train CartPole-v1   train any Gymnasium environment
  hogwild eval latest         how good is the newest agent?
"""


def main() -> None:
    """Run a command and leave with its exit code."""
    faulthandler.enable(2, all_threads=False)  # an environment that crashes in C says where
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run a command and answer its exit code."""
    from hogwild.config.suggest import unknown
    from hogwild.errors import HogwildError

    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(usage(), end="")
        return 0 if arguments else 2
    if arguments[0] in ("-V", "--version"):
        from hogwild import __version__

        print(f"hogwild {__version__}")
        return 0
    sys.path.insert(0, os.getcwd())  # so that `my_module:MyEnv-v0` finds a module in this folder
    name, rest = arguments[0], arguments[1:]
    try:
        if name not in COMMANDS:
            raise unknown("command", name, COMMANDS)
        module = importlib.import_module(f"hogwild.cli.{COMMANDS[name][0]}")
        return int(module.main(rest))
    except HogwildError as error:
        print(f"hogwild: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("hogwild: stopped", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader of our output has gone, as in `hogwild runs | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
