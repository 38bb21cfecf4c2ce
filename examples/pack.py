"""Pack what `reconciler example` writes: `python examples/pack.py`. The same files give the same bytes."""

import gzip
import io
import tarfile
from pathlib import Path

TOP = Path(__file__).resolve().parents[1]
ARCHIVE = TOP / "reconciler" / "cli" / "packaged" / "example.tar.gz"
PACKED = (
    "policies", "examples/quickstart", "examples/eks/cluster", "examples/eks/policies", "examples/openshift/cluster",
    "examples/openshift/policies", "examples/scenarios", "examples/traces",
)  # fmt: skip


def packed() -> bytes:
    """The archive's bytes: names in order, no times, no owners."""
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for path in sorted(path for folder in PACKED for path in (TOP / folder).rglob("*") if path.is_file()):
            member = tarfile.TarInfo(path.relative_to(TOP).as_posix())
            content = path.read_bytes()
            member.size, member.mode = len(content), 0o644
            archive.addfile(member, io.BytesIO(content))
    file = io.BytesIO()
    with gzip.GzipFile(fileobj=file, mode="wb", filename="", mtime=0, compresslevel=9) as compressed:
        compressed.write(tar.getvalue())
    return file.getvalue()


if __name__ == "__main__":
    ARCHIVE.write_bytes(packed())
