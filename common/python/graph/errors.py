"""The errors of sluice.graph."""

import sluice


class Error(sluice.Error):
    """A graph, file or edit that is wrong. code is the number of the error: 2004 is SL2004."""

    def __init__(self, code, message, hint="", file=""):
        place = f" [{file}]" if file else ""
        super().__init__(code, message + place + (f"\nhint: {hint}" if hint else ""))
        self.message, self.hint, self.file = message, hint, file


class ErasedError(Error, ReferenceError):
    """A handle to a node, value or graph that is erased."""

    def __init__(self, message):
        super().__init__(2001, message)
