"""`hogwild node`"""

from dataclasses import dataclass
from typing import Annotated

import tyro

from hogwild.cli.arguments import parse
from hogwild.cli.dashboard import check_port
from hogwild.errors import UsageError

PORT = 6379  # Ray's own


@dataclass(frozen=True)
class Node:
    """Make this machine one of a cluster, and keep it there until Ctrl-C.

    On the first machine `hogwild node --head --host ITS-ADDRESS`; on every other `hogwild node ITS-ADDRESS:6379`, with
    a copy of the first one's token. Then, on the first, `hogwild train pong --engine ray --address auto`.
    """

    address: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="HOST:PORT")] = ""
    """The first machine of the cluster (none: this one is, with --head)."""
    head: bool = False
    """This is the first machine."""
    host: str = ""
    """The address at which the others reach this machine (empty: with --head only this one does, else Ray finds it)."""
    port: int = PORT
    """The first machine's port."""
    cores: int | None = None
    """Cores that may be used here (None: all)."""


def main(arguments: list[str]) -> int:
    """Run Ray here until Ctrl-C."""
    given = parse(Node, "node", arguments)
    check_port(given.port)
    if given.head == bool(given.address):
        raise UsageError("Either --head, for the first machine, or HOST:PORT of the first machine.")
    from hogwild.engines.ray.node import (
        head_command,
        keep,
        make_token,
        node_command,
        require_answer,
        require_free,
        require_token,
    )
    from hogwild.engines.ray.reaching import import_ray

    import_ray("auto")
    host = given.host
    if given.head:
        host = given.host or "127.0.0.1"
        require_free(host, given.port)
        token, command = make_token(), head_command(host, given.port, given.cores)
        print(f"The cluster's first machine: {host}:{given.port}. Others join it by")
        if given.host:
            print(f"  hogwild node {host}:{given.port}      (with a copy of {token}: who has it may run anything here)")
        else:
            print("  nobody: only this machine reaches it. --host ITS-ADDRESS lets others in")
        print("and it is trained on, from this machine, by")
        print("  hogwild train pong --engine ray --address auto", flush=True)
    else:
        address = given.address if ":" in given.address else f"{given.address}:{given.port}"
        token, command = require_token(), node_command(address, host, given.cores)
        print(f"Joining {address}.", flush=True)
        require_answer(address)
    head = f"{host}:{given.port}" if given.head else ""
    return 128 + keep(command, token, lambda words: print(words, flush=True), head)
