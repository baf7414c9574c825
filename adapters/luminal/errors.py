"""What can be wrong with a capture that somebody hands in."""

from __future__ import annotations


class BundleError(Exception):
    """One sentence: the file, the place in it, what is wrong there."""

    def __init__(self, file: str, problem: str, place: str = "") -> None:
        super().__init__(f"{file}{f' at {place}' if place else ''}: {problem}")
        self.file = file
        self.place = place
