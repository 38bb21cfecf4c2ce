"""Names of revisions and paths in a tree, as people write them. They are checked before git sees them."""

import re
import unicodedata

MAX_REF_CHARACTERS = 255
MAX_PATH_CHARACTERS = 1024
MAX_PATH_DEPTH = 32

# SOURCE: git-check-ref-format (what no ref may contain) and gitrevisions (what is no single commit: ranges, exclusions,
# searches in messages, paths behind a colon).
_FORBIDDEN = (
    (re.compile(r"^-"), "begins with '-', which is an option"),
    (re.compile(r"^\^"), "begins with '^', which excludes a commit instead of naming one"),
    (re.compile(r"\.\."), "contains '..', which is a range. Name a single commit"),
    (re.compile(r":"), "contains ':', which names a file or a search. Name the commit, and the place with --path"),
    (re.compile(r"\^\{/"), "searches in commit messages. Name the commit"),
    (re.compile(r"@\{-"), "depends on earlier checkouts. Name the branch"),
    (re.compile(r"[\s?*\[\\]"), "contains a blank or one of ? * [ \\"),
)
_HIDDEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
_OBJECT_ID = re.compile("[0-9a-f]{40}|[0-9a-f]{64}")


class RefusedNameError(ValueError):
    """A refused name; the text states why, without the name itself."""


def checked_ref(name: str) -> str:
    """`name` if it can only mean one commit: a branch, a tag, an id, `HEAD~3`, `v1^{commit}`. Raises `RefusedNameError`."""
    if not name:
        raise RefusedNameError("is empty")
    if len(name) > MAX_REF_CHARACTERS:
        raise RefusedNameError(f"is longer than {MAX_REF_CHARACTERS} characters")
    if any(unicodedata.category(character) in _HIDDEN for character in name):
        raise RefusedNameError("contains control or invisible characters")
    for pattern, why in _FORBIDDEN:
        if pattern.search(name):
            raise RefusedNameError(why)
    return name


def object_id(text: str) -> str | None:
    """`text` if it is a whole object id (SHA-1 or SHA-256), else None."""
    return text if _OBJECT_ID.fullmatch(text) else None


def checked_root(path: str) -> str:
    """A place inside a tree without slashes at its ends, empty for the whole tree. Raises `RefusedNameError`."""
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if path.startswith("/") and parts:
        raise RefusedNameError("is absolute. Give the path relative to the top of the repository")
    if ".." in parts:
        raise RefusedNameError("contains '..': it cannot leave the repository")
    if len(path) > MAX_PATH_CHARACTERS:
        raise RefusedNameError(f"is longer than {MAX_PATH_CHARACTERS} characters")
    if any(unicodedata.category(character) in _HIDDEN for character in path):
        raise RefusedNameError("contains control or invisible characters")
    return "/".join(parts)


def path_fault(path: str) -> tuple[str, str]:
    """Why a path in a tree is refused, as (code, sentence); two empty texts if it is not.

    A tree object may hold any bytes as a name; git itself refuses most of these only when it checks out.
    """
    parts = path.split("/")
    if any(part in ("", ".", "..") for part in parts):
        return "UnsafePath", "the path has an empty part, '.' or '..' and could leave the tree"
    if any(part.casefold() in (".git", "git~1") for part in parts):
        return "UnsafePath", "the path goes through .git"
    if any(unicodedata.category(character) in _HIDDEN for character in path):
        return "UnsafePath", "the path contains a line break, control or invisible characters"
    if "\\" in path:
        return "UnsafePath", "the path contains a backslash, which other systems take for a separator"
    if len(path) > MAX_PATH_CHARACTERS:
        return "PathTooLong", f"the path is longer than {MAX_PATH_CHARACTERS} characters"
    if len(parts) > MAX_PATH_DEPTH:
        return "TooDeep", f"the file is more than {MAX_PATH_DEPTH} directories deep"
    return "", ""
