"""How an autoscaler of orchards would name rows in its flags."""

from collections.abc import Callable, Mapping
from typing import Any

from reconciler.policy.platform.autoscaler_flags import NamedTarget, PlatformFlags

_DISCOVERY = "orchard:"


def _named(text: str, place: Callable[[], str]) -> NamedTarget | None:
    return NamedTarget(target={"orchard": {"row": text, "field": place()}}, name=text)


def _discovered(text: str, _: Callable[[], str]) -> Mapping[str, Any] | None:
    return {"orchard": {"field": text.removeprefix(_DISCOVERY)}} if text.startswith(_DISCOVERY) else None


FLAGS = PlatformFlags(
    clouds=("orchard",),
    provider="orchard",
    named=_named,
    discovered=_discovered,
    elsewhere={"orchard-season": "the calendar says it"},
)
