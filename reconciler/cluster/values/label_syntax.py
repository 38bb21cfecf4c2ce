"""What a label may be called and hold. SOURCE: Kubernetes, "Labels and Selectors", syntax and character set."""

import re

_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?")
_PREFIX = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*")
_LONGEST_PREFIX = 253


def is_qualified_name(text: str) -> bool:
    """Whether a label, a taint or a resource may be called so: a name, with a DNS name and a slash before it or not."""
    prefix, slash, name = text.rpartition("/")
    if slash and not (len(prefix) <= _LONGEST_PREFIX and _PREFIX.fullmatch(prefix)):
        return False
    return _NAME.fullmatch(name) is not None


def is_label_value(text: str) -> bool:
    """Whether a label or a taint may have this value; an empty one is."""
    return not text or _NAME.fullmatch(text) is not None
