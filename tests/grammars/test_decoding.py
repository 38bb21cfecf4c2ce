"""Threads may decode a type for the first time at the same moment."""

import ast
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest

from reconciler.values.decoding import decode

ROOT = Path(__file__).resolve().parents[2]
_RACE = """
import sys, threading
import msgspec
from reconciler.values.decoding import convert, decode

sys.setswitchinterval(1e-6)
plain = {"a0": {"f1": {"x": 1}, "f2": {"y": 2}}, "a3": {"f9": {"q": None}}, "a5": {"f11": {"q": "s"}, "f0": {"y": 2}}}
body = msgspec.json.encode(plain)
for number in range(300):
    inner = [
        msgspec.defstruct(f"I{number}x{i}", [(f"f{j}", dict[str, int | str | None], {}) for j in range(12)]) for i in range(6)
    ]
    kind = msgspec.defstruct(f"O{number}", [(f"a{i}", one | None, None) for i, one in enumerate(inner)])
    barrier, wrong = threading.Barrier(8), []

    def run(odd):
        barrier.wait()
        found = CALL
        if found.a0.f1 != {"x": 1}:
            wrong.append(found)

    threads = [threading.Thread(target=run, args=(n % 2,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
"""


@pytest.mark.parametrize(
    "call", ["decode(body, kind)", "convert(plain, kind)", "convert(plain, kind) if odd else decode(body, kind)"]
)
def test_the_first_use_of_a_type_in_eight_threads(call: str) -> None:
    """With msgspec's own functions this process ends by SIGSEGV within a second."""
    done = subprocess.run(
        [sys.executable, "-c", _RACE.replace("CALL", call)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_nothing_else_makes_a_typed_decoder() -> None:
    """No list of exceptions: whoever needs a type uses `values.decoding`."""
    guarded = ROOT / "reconciler" / "values" / "decoding.py"
    unguarded = []
    for path in sorted((ROOT / "reconciler").rglob("*.py")):
        if path == guarded:
            continue
        for call in (node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)):
            name = ast.unparse(call.func)
            typed = len(call.args) > 1 or any(one.arg == "type" for one in call.keywords)
            if name in ("msgspec.json.Decoder", "msgspec.convert") or (name == "msgspec.json.decode" and typed):
                unguarded.append(f"{path.relative_to(ROOT)}:{call.lineno}")
    assert unguarded == []


@pytest.mark.parametrize(
    "body",
    [b'{"x": ' + b"[" * 100_000, b'{"x": ' * 20_000 + b"1" + b"}" * 20_000, b'{"x": "\xff"}', '{"x": "\ud800"}', b"\xff", b""],
    ids=["open lists", "deep mappings", "no UTF-8", "a lone surrogate", "no text", "nothing"],
)
@pytest.mark.parametrize("kind", [dict[str, str], msgspec.defstruct("Passing", [("y", str, "")]), msgspec.Raw])
def test_a_text_that_cannot_be_decoded_has_one_error(body: bytes | str, kind: Any) -> None:
    """Callers expect this one and no other, also for what they pass over."""
    with suppress(msgspec.DecodeError):
        decode(body, kind)
