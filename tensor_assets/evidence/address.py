"""The address of a store or a target as it may be shown: in plans, errors, logs and Dagster's metadata."""

from __future__ import annotations

import re

# A name with a password; over HTTP a token often stands alone. ssh://git@host names nobody.
_CREDENTIALS = re.compile(r"(?<=://)[^/\s:@]*:[^/\s@]*(?=@)|(?<=https://)[^/\s@]+(?=@)|(?<=http://)[^/\s@]+(?=@)")


def without_credentials(text: str) -> str:
    """``text`` with every URL in it less its password or token."""
    return _CREDENTIALS.sub("…", text)
