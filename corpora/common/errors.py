"""The user's mistakes, each told in one line."""


class FirthError(Exception):
    """A mistake of the user, not of the program.

    The message says what, where, the value and the remedy, in one line. The
    command line prints it without a traceback and exits with status 1.
    """


class SettingError(FirthError):
    """An option has a value outside its stated range."""


class SourceError(FirthError):
    """A source of text is missing, unreadable or malformed."""


class ArtifactError(FirthError):
    """A corpus or run is missing, incomplete, damaged, in use or already there."""


class UnknownWordError(FirthError):
    """A word has no vector in the run that was asked."""
