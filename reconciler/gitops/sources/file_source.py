"""Policy from one file."""

from pathlib import Path

from reconciler.gitops.git.fault import FaultCode, failed
from reconciler.gitops.sources.directory_source import content_revision
from reconciler.gitops.sources.source import Fetched
from reconciler.policy.reading.yaml_text import MAX_FILE_BYTES


class FileSource:
    """Reads one named file; links to it are followed."""

    def __init__(self, file: Path) -> None:
        self._file = file.absolute()

    @property
    def name(self) -> str:
        """The file."""
        return str(self._file)

    def fetch(self, last_revision: str | None, last_seconds: int = 0) -> Fetched:
        """The file now. Raises `SourceError`."""
        try:
            with self._file.open("rb") as stream:
                content = stream.read(MAX_FILE_BYTES + 1)
        except OSError as error:
            raise failed(FaultCode.UNREACHABLE, f"{self.name}: {error.strerror or error}") from None
        if len(content) > MAX_FILE_BYTES:
            raise failed(FaultCode.UNREACHABLE, f"{self.name}: it has more than {MAX_FILE_BYTES} bytes, the limit")
        files = {self._file.name: content}
        return Fetched(revision=content_revision(files), root="", files=files)
