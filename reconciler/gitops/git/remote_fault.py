"""Why a command that talked to a remote failed, from git's own words."""

from reconciler.gitops.git.fault import FaultCode, SourceError, failed
from reconciler.rendering.words.plain import plain, shortened

_OUTPUT_CHARACTERS = 300
_DENIED = (
    "Authentication failed", "could not read Username", "could not read Password", "Permission denied",
    "terminal prompts disabled", "returned error: 401", "returned error: 403", "Host key verification failed",
)  # fmt: skip
_NO_REF = ("couldn't find remote ref", "not our ref", "no such remote ref", "unadvertised object")


def git_words(output: str) -> str:
    """What git printed, on one line that is safe to show, without its hints."""
    lines = [plain(line) for line in output.splitlines() if line.strip()]
    words = " ".join(line for line in lines if not line.startswith(("hint:", "warning:")))
    return shortened(words or "no reason given", _OUTPUT_CHARACTERS)


def remote_fault(output: str, url: str, ref: str, what: str = "fetched") -> SourceError:
    """The fault behind standard error of a fetch or push of `ref`."""
    words = git_words(output)
    if any(mark in words for mark in _NO_REF):
        return failed(FaultCode.REF_NOT_FOUND, f"{url} has no {ref}", "check --ref")
    if any(mark in words for mark in _DENIED):
        return failed(
            FaultCode.AUTHENTICATION_FAILED, f"{url} denies access (git says: {words})",
            "check --git-password-file, --git-ssh-key, --known-hosts",
        )  # fmt: skip
    return failed(FaultCode.UNREACHABLE, f"{url} cannot be {what} (git says: {words})")
