"""What capture cannot do, and how it says so.

A refusal derives from BaseException: it passes through a user's `except Exception` on its way out, and only the
outermost call turns it into an error that users see.
"""

import re

from thixo.errors import CaptureError, raised_at, user_place

_PLACE = re.compile(r"^(.*?)(?: \(([^()\n]+:\d+)\))?$", re.DOTALL)


class Refused(BaseException):
    """Something that cannot be captured: what it is, why, what to write instead, and where."""

    def __init__(
        self, construct: str, reason: str, remedy: str = "", line: str | None = None
    ) -> None:
        super().__init__(construct, reason)
        self.construct = construct
        self.reason = reason
        self.remedy = remedy
        self.line = line or user_place()
        self.number: int | None = None  # of the line, where only the function's file is known yet

    def error(self, name: str, by: str = "script") -> CaptureError:
        """The error for the user of a captured function."""
        return CaptureError(f"{by}: {name} cannot be captured: {self.text()}")

    def text(self) -> str:
        """What, why, what to write instead, and the line."""
        text = f"{self.construct}: {self.reason}"
        if self.remedy:
            text += f"; {self.remedy}"
        return f"{text} ({self.line})" if self.line else text


class RaisedInTry(Refused):
    """An exception under a tensor's condition inside of try, in a function that is called there."""


class Several(Refused):
    """An exception that is one of several: a try statement around it may keep it, else it is refused."""

    def __init__(self, errors: object) -> None:
        super().__init__(
            "raise",
            "it is one of several exceptions that the data choose",
            "raise each where it arises",
        )
        self.errors = errors


def refusal_of(error: Exception) -> Refused:
    """An error of an operator as a refusal: the operator, why, what to do, and the line that the error has."""
    found = _PLACE.match(str(error))
    assert found is not None
    text, line = found.groups()
    construct, colon, rest = text.partition(": ")
    if not colon:
        construct, rest = type(error).__name__, text
    reason, _, remedy = rest.removeprefix("trace: ").partition("; ")
    return Refused(construct, reason, remedy, line)


def refusal_of_raised(error: Exception) -> Refused:
    """An exception that the function raised while it was captured; the data may decide its text."""
    try:
        text = str(error)
    except Refused:
        text = ""
    found = _PLACE.match(text)
    assert found is not None
    text, line = found.groups()
    reason = text or "it was raised while capturing"
    return Refused(type(error).__name__, reason, line=line or raised_at(error))
