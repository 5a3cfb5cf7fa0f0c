"""URLs as they may be published."""

import re

_USER = re.compile(r"(?<=://)[^\s/?#]*@")
_SECRET = re.compile(
    r"([?&;#][^=&;#\s]*(?:sig|token|key|secret|pass|pwd|cred|auth)[^=&;#\s]*=)"
    r"[^&;#\s]+?(?=[:,.)'\"]{0,3}(?:[&;#\s]|$))",  # without the punctuation of a message
    re.IGNORECASE,
)


def public(text: str) -> str:
    """Return text without the user and password of its URLs; signatures and tokens are ``***``."""
    return _SECRET.sub(r"\1***", _USER.sub("", text)) if "://" in text else text
