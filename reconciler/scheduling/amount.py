"""Amounts of resources as short text, rounded so that what is needed never looks smaller than what is free."""

from reconciler.cluster.values.resources import CPU, EPHEMERAL_STORAGE, MEMORY

_BINARY = (("Ei", 60), ("Pi", 50), ("Ti", 40), ("Gi", 30), ("Mi", 20), ("Ki", 10))


def amount_text(resource: str, amount: int, *, up: bool = False) -> str:
    """An amount of a resource (cpu in milli, memory in bytes, others in units): `1.25`, `3.5Gi`, `2`.

    Two decimals at most; what does not fit is rounded down, or up when `up`.
    """
    if amount < 0:
        return f"-{amount_text(resource, -amount, up=not up)}"
    if resource == CPU:
        return _decimal(amount, 1000, 3, up=up)
    if resource in (MEMORY, EPHEMERAL_STORAGE) or resource.startswith("hugepages-"):
        for suffix, bits in _BINARY:
            if amount >= 1 << bits:
                return _decimal(amount, 1 << bits, 2, up=up) + suffix
    return str(amount)


def _decimal(amount: int, unit: int, places: int, *, up: bool) -> str:
    scaled = amount * 10**places
    digits = -(-scaled // unit) if up else scaled // unit
    whole, rest = divmod(digits, 10**places)
    return f"{whole}.{rest:0{places}d}".rstrip("0").rstrip(".") if rest else str(whole)
