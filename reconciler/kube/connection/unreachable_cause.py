"""The reason why a server does not answer, in words. Client libraries wrap the system's message in their own class names."""

import re

_OBJECT = re.compile(r"<[^<>]*>:? ?|\b\w+Connection(?:Pool)?\([^()]*\):? ?|\b[A-Za-z]\w*(?:Error|Exception)\(|\[Errno -?\d+\] ?")
_CALLER = re.compile(r"Max retries exceeded with url: .*?\(Caused by (.*)\)$", re.DOTALL)


def cause(error: BaseException) -> str:
    """The message of the system or of the other side."""
    if isinstance(error, OSError) and error.strerror:
        return str(error.strerror)
    text = str(error)
    inner = _CALLER.search(text)
    words = _OBJECT.sub("", inner[1] if inner else text)
    while words.endswith((" ", "'", '"')) or (words.endswith(")") and words.count(")") > words.count("(")):
        words = words[:-1]
    words = words.lstrip(" '\"")
    return words or "the connection ended"
