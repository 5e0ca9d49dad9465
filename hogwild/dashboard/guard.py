"""Who may ask for what: every request passes here before anything else sees it.

A page on this machine can be reached by any web site that a browser has open, unless it looks at who asks. So: the name
in `Host` must be this machine's (a rebound name is not), `Origin` must be our own, what changes something carries a
header that no other site can send without asking first, and beyond loopback everything needs a token.
"""

import hmac
import ipaddress
import socket
import time
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs, quote, urlencode, urlsplit

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

LARGEST_BODY = 16_384  # bytes
REQUESTS, CHANGES = 300.0, 100.0  # a second
LOOPBACK_NAMES = ("localhost",)
HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "media-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
}


class Refused(Exception):
    """A request that is not answered."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class Bucket:
    """Lets so many requests a second through, and a burst of two seconds' worth.

    >>> bucket = Bucket(1.0, now=lambda: 0.0)
    >>> [bucket.take() for _ in range(3)]
    [True, True, False]
    """

    def __init__(self, rate: float, now: Callable[[], float] = time.monotonic) -> None:
        self.rate, self.now = rate, now
        self.left, self.at = 2 * rate, now()

    def take(self) -> bool:
        """Whether one more may pass."""
        now = self.now()
        self.left = min(2 * self.rate, self.left + (now - self.at) * self.rate)
        self.at = now
        if self.left < 1:
            return False
        self.left -= 1
        return True


def is_loopback(host: str) -> bool:
    """Whether an address can only be reached from this machine.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host in LOOPBACK_NAMES


def own_names(host: str) -> frozenset[str]:
    """The names under which this machine is reached when it listens beyond loopback."""
    return frozenset({host.lower(), socket.gethostname().lower(), socket.getfqdn().lower()})


def is_own_name(host: str, names: frozenset[str]) -> bool:
    """Whether the `Host` of a request is this machine, and not a name that somebody made point here; addresses count
    only where `names` do, that is beyond loopback.

    >>> is_own_name("localhost:8300", frozenset()), is_own_name("[::1]:80", frozenset())
    (True, True)
    >>> is_own_name("evil.example", frozenset()), is_own_name("10.0.0.1", frozenset()), is_own_name("[", frozenset())
    (False, False, False)
    """
    try:
        name = (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return False
    if is_loopback(name) or name in names:
        return True
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return bool(names)


class Guard:
    """Middleware around the whole application."""

    def __init__(self, app: App, token: str = "", names: frozenset[str] = frozenset(), port: int = 0) -> None:
        """`token` is asked for if there is one; `names` are those of this machine beyond loopback."""
        self.app, self.token, self.names = app, token, names
        self.cookie = f"hogwild-token-{port}"  # cookies know no ports, and there may be several servers
        self.requests, self.changes = Bucket(REQUESTS), Bucket(CHANGES)
        self.strangers = Bucket(REQUESTS)  # who does not know the token cannot use up what its owner may do

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":  # no sockets: there is nothing to guard then
            await send({"type": "websocket.close", "code": 1008})
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        try:
            is_known = not self.token or self._knows_token(headers)
            self._check(scope, headers, self.requests if is_known else self.strangers)
            if not is_known:
                await self._greet(scope, send)
                return
            if scope["method"] == "POST":
                receive = await with_small_body(receive)
        except Refused as refused:
            await answer(send, refused.status, f"{refused}\n")
            return
        await self.app(scope, receive, guarded(send))

    def _check(self, scope: Scope, headers: dict[str, str], requests: "Bucket") -> None:
        host, changes = headers.get("host", ""), scope["method"] not in ("GET", "HEAD")
        if not is_own_name(host, self.names):
            raise Refused(403, f"'{host}' is not a name of this machine.")
        if "origin" in headers and headers["origin"].split("://")[-1] != host:
            raise Refused(403, "This page answers to itself only.")
        # Browsers say who asks. Another site, or another port of this machine, may link to a page, and nothing else.
        links = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
        is_page = links and not scope["path"].startswith("/api/")
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin") and not is_page:
            raise Refused(403, "This page answers to itself only.")
        if changes and (scope["method"] != "POST" or "x-hogwild" not in headers):
            raise Refused(403, "Changes need the page's own header.")
        if not requests.take() or (changes and not self.changes.take()):
            raise Refused(429, "Too many requests; try again in a moment.")

    def _knows_token(self, headers: dict[str, str]) -> bool:
        given = [headers.get("authorization", "").removeprefix("Bearer ")]
        with suppress(CookieError):
            cookies = SimpleCookie(headers.get("cookie", ""))
            given += [cookies[self.cookie].value] if self.cookie in cookies else []
        return any(hmac.compare_digest(each.encode(), self.token.encode()) for each in given)

    async def _greet(self, scope: Scope, send: Send) -> None:
        """Who comes with the token in the address gets it as a cookie, and an address without it."""
        query = parse_qs(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        given = query.pop("token", [""])[0]
        if not hmac.compare_digest(given.encode(), self.token.encode()):
            raise Refused(401, "The address with the token is on the terminal where the dashboard was started.")
        rest = urlencode(query, doseq=True)
        # Quoted anew and with one slash in front: whatever was asked for, it is a page of ours.
        where = "/" + quote(scope["path"].lstrip("/\\")) + (f"?{rest}" if rest else "")
        cookie = f"{self.cookie}={self.token}; Path=/; HttpOnly; SameSite=Lax; Max-Age=2592000"
        await answer(send, 303, "", {"location": where, "set-cookie": cookie})


async def with_small_body(receive: Receive) -> Receive:
    """Read the whole body, which may say that it is small and not be; answers what hands it on."""
    body, more = b"", True
    while more:
        message = await receive()
        body, more = body + message.get("body", b""), bool(message.get("more_body"))
        if len(body) > LARGEST_BODY:
            raise Refused(413, "That is too much.")
    parts = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def replay() -> MutableMapping[str, Any]:
        return next(parts, None) or await receive()

    return replay


def guarded(send: Send) -> Send:
    """Every answer carries the policy."""

    async def with_headers(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            own = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
            message = dict(message) | {"headers": [*message.get("headers", []), *own]}
        await send(message)

    return with_headers


async def answer(send: Send, status: int, text: str, headers: dict[str, str] | None = None) -> None:
    """A short answer of our own."""
    body = text.encode()
    fields = {"content-type": "text/plain; charset=utf-8", "content-length": str(len(body))} | (headers or {})
    start = {"type": "http.response.start", "status": status}
    await guarded(send)(start | {"headers": [(k.encode(), v.encode()) for k, v in fields.items()]})
    await send({"type": "http.response.body", "body": body})
