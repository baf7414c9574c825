"""Passing alerts on: to a command that a team configured (a chat's webhook, mail), or to the log.

``TENSOR_ASSETS_ALERT_COMMAND`` is run once for each alert, without a shell, with the alert as one JSON object on its
standard input (``id``, ``sentence``, ``kind``, ``since``, ``was``, ``now``, ``ratio``, ``beside``, ``before``,
``after``, ``key``). Its success is kept as a record, so each alert is passed on once; one that fails is tried again at
the next tick.
"""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Callable

import msgspec

from tensor_assets.errors import AlertNotTold, SettingsError
from tensor_assets.history.alerts import Keeping, made_from
from tensor_assets.history.series import History
from tensor_assets.records import AlertRecord, NoticeRecord, Outcome

SECONDS = 60.0  # for one alert; a webhook that takes longer is not answering


def untold(history: History) -> list[tuple[str, AlertRecord]]:
    """Alerts that no notice speaks of, oldest first."""
    passed_on = {notice.alert for _, notice in history.records(NoticeRecord, history=True)}
    found = [pair for pair in history.records(AlertRecord, history=True) if pair[0] not in passed_on]
    return sorted(found, key=lambda pair: pair[1].since)


def tell(store: Keeping, alert_id: str, alert: AlertRecord, command: str, log: Callable[[str], object]) -> None:
    """Run ``command`` or, without one, ``log`` the sentence; then note that it was done.

    Raises AlertNotTold if the command cannot be run, fails or takes too long; SettingsError if it is no command line.
    """
    channel = "log"
    if command:
        channel = _run(command, alert_id, alert)
    log(alert.sentence)
    store.put(
        NoticeRecord(
            key=alert.key,
            outcome=Outcome(status="ok"),
            provenance=made_from(alert_id),
            alert=alert_id,
            channel=channel,
        )
    )


def message(alert_id: str, alert: AlertRecord) -> bytes:
    """The alert as the JSON that a command reads."""
    shown = ("kind", "axis", "since", "was", "now", "ratio", "interval", "beside", "before", "after", "sentence", "key")
    return msgspec.json.encode({"id": alert_id, **{name: getattr(alert, name) for name in shown}})


def _run(command: str, alert_id: str, alert: AlertRecord) -> str:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise SettingsError(f"TENSOR_ASSETS_ALERT_COMMAND is no command line: {error}") from None  # may hold a secret
    if not words:
        raise SettingsError("TENSOR_ASSETS_ALERT_COMMAND holds no word; unset it to log alerts")
    try:
        done = subprocess.run(words, input=message(alert_id, alert), capture_output=True, timeout=SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise AlertNotTold(f"{words[0]} told nobody of alert {alert_id[:12]}…: {error}") from error
    if done.returncode:
        said = " ".join(done.stderr.decode(errors="replace").split())[-200:]
        raise AlertNotTold(f"{words[0]} exited with {done.returncode} on alert {alert_id[:12]}…: {said}")
    return words[0].rpartition("/")[2]
