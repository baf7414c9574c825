"""What would tell who ran this and where: user, host, home, and the secrets in the environment of this process."""

from __future__ import annotations

import getpass
import os
import re
import socket
from collections.abc import Mapping

import msgspec

from tensor_assets.home import home

# Accounts that every image has say nothing about anybody.
_GENERIC = frozenset(
    {"root", "users", "admin", "ubuntu", "debian", "nobody", "runner", "docker", "jovyan", "builder", "build", "worker"}
    | {"default", "guest", "tester", "localhost", "localdomain"}
)
_SECRET_NAME = re.compile(r"TOKEN|KEY|SECRET|PASS|CREDENTIAL|AUTH|COOKIE|DSN", re.IGNORECASE)


class Identity(msgspec.Struct, frozen=True):
    """Words that are looked for literally, besides the patterns of ``redaction.py``."""

    users: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    homes: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()


def identity_of(environ: Mapping[str, str] = os.environ) -> Identity:
    """Of this host, this account and ``environ``.

    A user name under five letters, or a host name without a digit, hyphen or dot, may be a word of a compiler ("max",
    "gpu"); those are found in paths and addresses only.
    """
    users = {environ.get("USER", ""), environ.get("LOGNAME", ""), environ.get("SUDO_USER", ""), _account()}
    hosts = {environ.get("HOSTNAME", ""), socket.gethostname(), socket.gethostname().partition(".")[0]}
    homes = {environ.get("HOME", ""), str(home() or "")}
    secrets = {value for name, value in environ.items() if _SECRET_NAME.search(name) and _is_secret(value)}
    return Identity(
        users=_longest_first(name for name in users if len(name) >= 5 and name not in _GENERIC),
        hosts=_longest_first(name for name in hosts if len(name) >= 4 and re.search(r"[-.\d]", name)),
        homes=_longest_first(home.rstrip("/") for home in homes if home.count("/") >= 2),
        secrets=_longest_first(secrets),
    )


def _is_secret(value: str) -> bool:
    """Long enough to be one, and not a path or a plain number."""
    return len(value) >= 8 and not value.startswith(("/", "~")) and not value.isdigit()


def _account() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # an id without a name, in a container
        return ""


def _longest_first(words: object) -> tuple[str, ...]:
    return tuple(sorted(set(words), key=lambda word: (-len(word), word)))  # type: ignore[call-overload]
