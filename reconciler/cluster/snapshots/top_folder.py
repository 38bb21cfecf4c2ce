"""The one folder above all files of an archive or dump. Names in a snapshot leave it out."""

from collections.abc import Collection

_OWN = frozenset({"management", "workload"})


def top_folder(names: Collection[str]) -> str:
    """The folders that all names are below, with `/` at the end; empty where there is none. Ours say which cluster is in them."""
    common: list[str] = []
    split = [name.split("/")[:-1] for name in names]
    for level in range(min(map(len, split), default=0)):
        part = split[0][level]
        if part in _OWN or any(folders[level] != part for folders in split):
            break
        common.append(part)
    return "".join(f"{part}/" for part in common)
