"""Run the sessions in the README and below docs/ again and write what they print now: `python -m tests.docs.refresh`.

A line `…` in a session stands for lines left out. What is shown between two of them is found again by how its first and its
last line begin; read the difference before you keep it.
"""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ELLIPSIS, BEGINNING = "…", 12
_SESSION = re.compile(r"^```console\n(.*?)^```$", re.M | re.S)


def main() -> None:
    """Rewrite README.md, the pages of docs/ and those of examples/."""
    for path in (ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/README.md")):
        text = path.read_text(encoding="utf-8")
        path.write_text(_SESSION.sub(lambda found: f"```console\n{_again(found[1])}```", text), encoding="utf-8")


def _again(session: str) -> str:
    parts = re.split(r"^\$ (.*)\n", session, flags=re.M)
    return "".join(
        f"$ {command}\n{_shortened(shown.splitlines(), _output(command))}"
        for command, shown in zip(parts[1::2], parts[2::2], strict=True)
    )


def _output(command: str) -> list[str]:
    words = shlex.split(command)
    done = subprocess.run(
        [sys.executable, "-m", "reconciler", *words[1:]],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "NO_COLOR": "1", "COLUMNS": "100"},
    )
    return done.stdout.splitlines()


def _shortened(shown: list[str], lines: list[str]) -> str:
    """The new lines with the old ellipses."""
    kept: list[str] = []
    at = 0
    for number, segment in enumerate(_segments(shown)):
        if segment is None:
            kept.append(ELLIPSIS)
            continue
        start = 0 if number == 0 else _find(lines, segment[0], at)
        last = number == len(_segments(shown)) - 1
        end = len(lines) if last else _find(lines, segment[-1], start) + 1
        kept.extend(lines[start:end])
        at = end
    return "".join(f"{line}\n" for line in kept)


def _segments(shown: list[str]) -> list[list[str] | None]:
    found: list[list[str] | None] = []
    for line in shown:
        if line.strip() == ELLIPSIS:
            found.append(None)
        elif found and found[-1] is not None:
            found[-1].append(line)
        else:
            found.append([line])
    return found


def _find(lines: list[str], like: str, start: int) -> int:
    for index in range(start, len(lines)):
        if lines[index][:BEGINNING] == like[:BEGINNING]:
            return index
    raise SystemExit(f"no line begins like {like!r} any more: mend this session by hand")


if __name__ == "__main__":
    main()
