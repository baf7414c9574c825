"""Which of two records under one key is the newer: a number that grows with the clock and with what its writer saw.

The minute in which a record was made, or one more than any number that its writer saw under the key, whichever is
larger (a hybrid logical clock). So a clock that was set back hides nothing, and of two stores that never met neither
wins because it wrote more often.
"""

from __future__ import annotations

from datetime import UTC, datetime

# Far from the last number that a file name holds (10**8): what is written after the largest still has its place.
MAX_SEQUENCE = 9 * 10**7  # the year 2141


def minute_of(created: str) -> int:
    """Minutes since 1970 of a time in ISO 8601, UTC where it names no zone; 0 for what is no time.

    At most MAX_SEQUENCE.
    """
    try:
        time = datetime.fromisoformat(created)
    except ValueError:
        return 0
    seconds = (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
    return min(max(0, int(seconds // 60)), MAX_SEQUENCE)
