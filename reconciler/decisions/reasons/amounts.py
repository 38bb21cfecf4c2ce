"""Amounts in words: the one place where integers become text for people."""

from functools import lru_cache

from reconciler.cluster.values.resources import CPU, EPHEMERAL_STORAGE, MEMORY

_BINARY = ((1 << 50, "Pi"), (1 << 40, "Ti"), (1 << 30, "Gi"), (1 << 20, "Mi"), (1 << 10, "Ki"))


def amount_text(resource: str, amount: int) -> str:
    """`7800` cpu -> `7.8`, `6442450944` memory -> `6Gi`; other resources as plain integers."""
    if resource == CPU:
        return _trimmed(amount, 1000, 3)
    if resource in (MEMORY, EPHEMERAL_STORAGE) or resource.startswith("hugepages-"):
        for unit, suffix in _BINARY:
            if abs(amount) >= unit:
                return _trimmed(amount, unit, 1) + suffix
    return str(amount)


@lru_cache(maxsize=4096)
def permille_text(permille: int) -> str:
    """`562` -> `56.2%`."""
    return f"{_trimmed(permille, 10, 1)}%"


def _trimmed(amount: int, unit: int, digits: int) -> str:
    scaled = round(amount * 10**digits / unit)
    whole, rest = divmod(abs(scaled), 10**digits)
    sign = "-" if scaled < 0 else ""
    return sign + (f"{whole}.{rest:0{digits}d}".rstrip("0").rstrip(".") if rest else str(whole))
