"""A value of another autoscaler's object on one line of a comment, shortened."""

import json
from typing import Any

from reconciler.values.shown_text import cut


def shown_value(value: Any) -> str:  # noqa: ANN401 - JSON of any form
    """A text as it stands, everything else as JSON."""
    shorter = _shorter(value)
    return shorter if isinstance(shorter, str) else json.dumps(shorter, ensure_ascii=False)


def _shorter(value: Any) -> Any:  # noqa: ANN401 - JSON of any form
    if isinstance(value, dict):
        return {key: _shorter(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_shorter(part) for part in value]
    return cut(value) if isinstance(value, str) else value
