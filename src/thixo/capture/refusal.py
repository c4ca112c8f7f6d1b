"""What capture cannot do, and how it says so.

A refusal derives from BaseException: it passes through a user's `except Exception` on its way out, and only the
outermost call turns it into an error that users see.
"""

from thixo.errors import CaptureError, user_line


class Refused(BaseException):
    """Something that cannot be captured: what it is, why, what to write instead, and where."""

    def __init__(
        self, construct: str, reason: str, remedy: str = "", line: str | None = None
    ) -> None:
        super().__init__(construct, reason)
        self.construct = construct
        self.reason = reason
        self.remedy = remedy
        self.line = line or user_line()

    def error(self, name: str) -> CaptureError:
        """The error for the user of a captured function."""
        text = f"script: {name} cannot be captured: {self.construct}: {self.reason}"
        if self.remedy:
            text += f"; {self.remedy}"
        return CaptureError(f"{text} ({self.line})" if self.line else text)
