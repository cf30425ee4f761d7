"""Who may ask what: keys, the scopes they are bound to, and how often they may ask. No body has a say in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from math import ceil
from typing import Final

from ...errors import InvalidInput
from ...request import check_scope
from ...serve_settings import EVERY_SCOPE, KeySettings, ServeSettings
from ..keys import hash_of
from .problems import Refused

BURST_S: Final = 4.0


@dataclass(frozen=True, slots=True)
class Caller:
    """Somebody who asks: by a key, or from this machine."""

    name: str
    scopes: frozenset[str]
    may_write: bool

    def may_use(self, scope: str) -> bool:
        return EVERY_SCOPE in self.scopes or scope in self.scopes


@dataclass(frozen=True, slots=True)
class Access:
    """What one request may do: in this scope, and whether it may write there."""

    caller: Caller
    scope: str

    @property
    def may_write(self) -> bool:
        return self.caller.may_write

    def check_write(self) -> None:
        """Refuse a caller that may only read."""
        if not self.may_write:
            raise Refused(403, f"the key {self.caller.name!r} may read only: ask with one that may write")


ANYBODY_HERE: Final = Caller("local", frozenset({EVERY_SCOPE}), may_write=True)


def is_local(host: str) -> bool:
    """Whether an address is reached from this machine alone."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def check_host(options: ServeSettings) -> None:
    """Refuse to be open to others without a key."""
    if not options.keys and not is_local(options.host):
        raise InvalidInput(
            f"the host is {options.host!r}, which others can reach, and there is no key: make one with `recollect key NAME`, put it into "
            "'serve.keys', or listen at 127.0.0.1"
        )


class Bucket:
    """So many requests a second on average, and some at once."""

    def __init__(self, per_s: float) -> None:
        self._per_s = per_s
        self._most = max(1.0, per_s * BURST_S)
        self._left, self._at = self._most, 0.0

    def wait_s(self, now: float) -> float:
        """0 where one more may come now, which is then counted; else the seconds until one may."""
        self._left = min(self._most, self._left + (now - self._at) * self._per_s)
        self._at = now
        if self._left < 1.0:
            return (1.0 - self._left) / self._per_s
        self._left -= 1.0
        return 0.0


class Door:
    """Lets requests in: by their key, and without any only what comes from this machine and no foreign page."""

    def __init__(self, options: ServeSettings, default_scope: str) -> None:
        self._default = default_scope
        self._callers = {key.hash: _caller(key) for key in options.keys}
        self._buckets = {key.name: Bucket(key.requests_per_s or options.requests_per_s) for key in options.keys}
        self._hosts = frozenset(host.lower() for host in options.hosts)
        self._origins = frozenset(origin.rstrip("/").lower() for origin in options.origins)

    def check_page(self, host: str, origin: str | None) -> None:
        """Refuse a page of another site, and without keys also a name that somebody else made point to this machine."""
        if not self._callers and not is_local(_name_of(host)) and _name_of(host) not in self._hosts:
            raise Refused(403, f"the host is {host!r:.80}: call the service by the name of this machine, or name this one in 'serve.hosts'")
        if origin and origin.lower().partition("://")[2] != host.lower() and origin.lower() not in self._origins:
            raise Refused(
                403, f"the origin is {origin!r:.80}: pages of other sites may not call the service, unless 'serve.origins' names them"
            )

    def allows(self, origin: str | None) -> bool:
        """Whether pages of another site may read the answers."""
        return origin is not None and origin.lower() in self._origins

    def caller(self, authorization: str | None, now: float) -> Caller:
        """Whoever has this key, if it is not used too often."""
        if not self._callers:
            return ANYBODY_HERE
        kind, _, key = (authorization or "").partition(" ")
        found = self._callers.get(hash_of(key.strip())) if kind.lower() == "bearer" else None
        if found is None:
            said = "the key is not known" if authorization else "a key is needed"
            raise Refused(401, f"{said}: send one that was given to you as 'Authorization: Bearer KEY'", {"WWW-Authenticate": "Bearer"})
        if wait_s := self._buckets[found.name].wait_s(now):
            raise Refused(429, f"the key {found.name!r} asks too often: wait {wait_s:.1f} s", {"Retry-After": str(ceil(wait_s))})
        return found

    def access(self, caller: Caller, asked: str | None) -> Access:
        """What a caller may do in the scope that was asked for, or in its own."""
        if asked is None:
            asked = self._own_scope(caller)
        check_scope(asked)
        if not caller.may_use(asked):
            raise Refused(403, f"the key {caller.name!r} is not for the scope {asked!r:.80}: ask for one of its own")
        return Access(caller, asked)

    def _own_scope(self, caller: Caller) -> str:
        if caller.may_use(self._default):
            return self._default
        if len(caller.scopes) > 1:
            names: Sequence[str] = sorted(caller.scopes)
            raise InvalidInput(f"the key {caller.name!r} is for several scopes: say which, as ?scope={names[0]}")
        return next(iter(caller.scopes))


def _caller(key: KeySettings) -> Caller:
    return Caller(key.name, frozenset(key.scopes), may_write=key.may == "write")


def _name_of(host: str) -> str:
    """The name of a host without its port."""
    name = host.lower()
    return name[1:].partition("]")[0] if name.startswith("[") else name.partition(":")[0]
