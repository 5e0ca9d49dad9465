"""Who is let in, and who is not: a test for each way that pages on this machine have been broken into."""

import json
import socket
import time
from pathlib import Path
from typing import Any

import pytest

from hogwild.dashboard.guard import LARGEST_BODY, Bucket, Guard
from tests.dashboard.conftest import Server, run_async, serving

OWN = {"x-hogwild": "1", "content-type": "application/json"}


@pytest.mark.fault(81)
@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "8.8.8.8", "", "a:b:c", "[", "[::1"]
)
def test_a_name_that_was_made_to_point_here_is_refused(server: Server, host: str) -> None:
    assert server.ask("/api/runs", headers={"Host": host})[0] == 403
    assert server.ask("/", headers={"Host": host})[0] == 403


@pytest.mark.fault(81)
@pytest.mark.parametrize(
    "hosts", ["", "Host: localhost\r\nHost: evil.example\r\n", "Host: evil.example\r\nHost: localhost\r\n"]
)
def test_a_question_without_a_host_or_with_two_is_refused(server: Server, hosts: str) -> None:
    assert say(server, f"GET /api/runs HTTP/1.1\r\n{hosts}Connection: close\r\n\r\n") in (400, 403)


@pytest.mark.fault(81)
def test_a_header_without_end_is_refused(server: Server) -> None:
    assert say(server, f"GET /api/runs HTTP/1.1\r\nHost: localhost\r\nX: {'x' * 1_000_000}\r\n\r\n") in (0, 400, 431)
    assert server.ask("/api/runs")[0] == 200


@pytest.mark.fault(81)
def test_two_hundred_who_speak_slowly_keep_nobody_waiting(server: Server) -> None:
    slow = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(200)]
    for round_ in range(3):
        for connection in slow:
            connection.sendall(b"GET /api/runs HTTP/1.1\r\n" if not round_ else b"X: y\r\n")
        began = time.monotonic()
        assert server.ask("/api/runs")[0] == 200
        assert time.monotonic() - began < 2
    for connection in slow:
        connection.close()


def say(server: Server, words: str) -> int:
    """The status of the answer to what is said just so; 0 if the line is cut without one."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
        try:
            connection.sendall(words.encode())
            answer = connection.recv(100)
        except (ConnectionResetError, BrokenPipeError):
            return 0
    return int(answer.split()[1]) if answer else 0


@pytest.mark.parametrize("host", ["localhost:9000", "127.0.0.1", "[::1]:80"])
def test_a_tunnel_to_this_machine_may_have_another_port(server: Server, host: str) -> None:
    assert server.ask("/api/runs", headers={"Host": host})[0] == 200


@pytest.mark.fault(81)
@pytest.mark.parametrize(
    "origin", ["https://evil.example", "http://localhost:1", "null", "http://127.0.0.1.evil.example", "http://["]
)
def test_another_page_gets_nothing(server: Server, origin: str) -> None:
    for method, path in (("GET", "/api/runs"), ("POST", "/api/runs/cart-0/jobs"), ("GET", "/api/news")):
        assert server.ask(path, method, headers={"Origin": origin, **OWN})[0] == 403


def test_another_site_cannot_embed_or_read_but_may_link_here(server: Server) -> None:
    page, frame = ({"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": dest} for dest in ("document", "iframe"))
    for site in ("cross-site", "same-site"):
        cross = {"Sec-Fetch-Site": site}
        assert server.ask("/api/runs", headers=cross | {"Sec-Fetch-Mode": "no-cors"})[0] == 403
        assert server.ask("/api/runs/pong/spectator", headers=cross | page)[0] == 403
        assert server.ask("/", headers=cross | frame)[0] == 403
        assert server.ask("/run/cart-0", headers=cross | page)[0] == 200
    _, headers, _ = server.ask("/")
    assert "access-control-allow-origin" not in headers
    assert headers["cross-origin-resource-policy"] == "same-origin"


@pytest.mark.fault(81)
def test_changes_need_a_header_that_forms_and_images_cannot_send(server: Server) -> None:
    body = {"kind": "evaluate", "checkpoint": "step-000000003000"}
    before = server.get("/api/jobs")
    assert server.ask("/api/runs/cart-0/jobs", "POST", body)[0] == 403
    assert server.ask("/api/runs/cart-0/jobs", "POST", body, {"content-type": "text/plain"})[0] == 403
    for method in ("PUT", "DELETE", "PATCH", "OPTIONS"):
        assert server.ask("/api/runs/cart-0/jobs", method, headers=OWN)[0] == 403
    assert server.get("/api/jobs") == before


@pytest.mark.fault(81)
def test_every_answer_carries_a_strict_policy(server: Server) -> None:
    for path in ("/", "/api/runs", "/api/none", "/assets/app.js", "/assets/none"):
        _, headers, _ = server.ask(path)
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'none'")
        assert "unsafe" not in policy
        assert "http" not in policy
        assert "frame-ancestors 'none'" in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert "server" not in headers


@pytest.mark.fault(81)
@pytest.mark.parametrize(
    "path",
    [
        "/api/runs/..",
        "/api/runs/../../etc",
        "/api/runs/%2e%2e%2f%2e%2e%2fetc",
        "/api/runs/%2Fetc",
        "/api/runs/cart-0%00",
        "/api/runs/cart-0/videos/..%2f..%2fconfig.toml",
        "/api/runs/cart-0/videos/%2e%2e",
        "/api/curves?runs=../..,/etc/passwd&metrics=../../x",
        "/assets/../../app.py",
        "/assets/%2e%2e/%2e%2e/app.py",
        "/assets//etc/passwd",
    ],
)
def test_no_path_leads_out_of_the_runs_folder(server: Server, path: str) -> None:
    status, _, body = server.ask(path)
    assert status in (400, 403, 404) or body == b"[]"
    assert b"root:" not in body
    assert b"import " not in body


def test_links_that_lead_out_of_the_runs_folder_show_no_more_than_a_run(server: Server, runs: Path) -> None:
    (runs / "cart-0" / "videos").mkdir(exist_ok=True)
    secret = runs.parent / "secret.txt"
    secret.write_text("secret")
    link = runs / "cart-0" / "videos" / "film.mp4"
    link.symlink_to(secret)
    try:
        assert server.ask("/api/runs/cart-0/videos/film.mp4")[0] == 404
    finally:
        link.unlink()


@pytest.mark.fault(81)
def test_large_bodies_are_refused_whatever_they_say_of_themselves(server: Server) -> None:
    large = b'{"action": "' + b"x" * (2 * LARGEST_BODY) + b'"}'
    assert server.ask("/api/play/step", "POST", large, OWN)[0] == 413


def test_a_body_that_comes_in_pieces_is_counted() -> None:
    async def never(scope: Any, receive: Any, send: Any) -> None:
        raise AssertionError("it was let in")

    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": b"x" * 4096, "more_body": True}

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(b"host", b"localhost"), (b"x-hogwild", b"1")]
    scope = {"type": "http", "method": "POST", "path": "/", "headers": headers, "query_string": b""}
    run_async(Guard(never)(scope, receive, send))
    assert sent[0]["status"] == 413


@pytest.mark.parametrize("body", [b"", b"[]", b"null", b"{", b"\xff"])
def test_nonsense_is_refused_in_words(server: Server, body: bytes) -> None:
    status, _, answer = server.ask("/api/runs/cart-0/jobs", "POST", body, OWN)
    assert status == 400
    assert json.loads(answer)["error"]


def test_an_action_is_a_whole_number() -> None:
    with serving("play", "CartPole-v1") as server:
        for action in ("1", 1e99, None, [0]):
            assert server.post("/api/play/step", {"action": action})[0] == 400
        assert server.post("/api/play/step", {"action": 1})[0] == 200


@pytest.mark.fault(81)
def test_too_many_requests_are_turned_away_and_then_let_in_again() -> None:
    now = 0.0
    bucket = Bucket(10.0, now=lambda: now)
    assert sum(bucket.take() for _ in range(100)) == 20
    now = 1.0
    assert sum(bucket.take() for _ in range(100)) == 10


def test_sockets_are_closed_at_once() -> None:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def never(scope: Any, receive: Any, send: Any) -> None:
        raise AssertionError("it was let in")

    run_async(Guard(never)({"type": "websocket"}, lambda: None, send))  # type: ignore[arg-type,return-value]
    assert sent == [{"type": "websocket.close", "code": 1008}]


def test_loopback_is_all_that_is_listened_on_by_default(server: Server) -> None:
    assert server.address.startswith("http://localhost:")
    own = next(
        (info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None) if info[4][0] != "127.0.0.1"), None
    )
    if own is None or str(own).startswith(("127.", "::1")):  # a machine without any other address has nothing to hide
        return
    with pytest.raises(OSError, match="refused"):
        socket.create_connection((str(own), server.port), timeout=2)


@pytest.mark.fault(81)
def test_beyond_loopback_everything_needs_the_token(runs: Path) -> None:
    with serving("dashboard", "--runs", str(runs), "--host", "0.0.0.0") as server:
        token = server.address.split("token=")[1]
        assert len(token) >= 32
        for path in ("/", "/api/runs", "/assets/app.js", "/?token=wrong", "/?token="):
            assert server.ask(path)[0] == 401
        assert server.ask("/api/runs", headers={"Authorization": "Bearer wrong"})[0] == 401
        assert server.ask("/api/runs", headers={"Cookie": f"hogwild-token-{server.port}=wrong"})[0] == 401
        assert server.ask("/api/runs", headers={"Authorization": f"Bearer {token}"})[0] == 200
        status, headers, _ = server.ask(f"/run/cart-0?tab=log&token={token}")
        assert status == 303
        assert headers["location"] == "/run/cart-0?tab=log"
        assert "HttpOnly" in headers["set-cookie"]
        assert "SameSite=Lax" in headers["set-cookie"]
        cookie = headers["set-cookie"].split(";")[0]
        assert server.ask("/api/runs", headers={"Cookie": cookie})[0] == 200
        assert server.ask("/api/runs", headers={"Cookie": cookie, "Host": "evil.example"})[0] == 403
        both = {"Cookie": f"hogwild-token-{server.port}=old", "Authorization": f"Bearer {token}"}
        assert server.ask("/api/runs", headers=both)[0] == 200
        for path in ("//evil.example", "///evil.example", "/\\evil.example", "/%5C/evil.example", "/%0d%0aX:1"):
            status, headers, _ = server.ask(f"{path}?token={token}")
            assert status == 303
            assert headers["location"][0] == "/"
            assert headers["location"][1] not in "/\\"
            assert "x" not in headers
