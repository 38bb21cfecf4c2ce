"""Policy texts of a megabyte that would take long to read for who reads them carelessly; as a program, reads them all."""

from collections.abc import Callable, Mapping

from reconciler.policy.reading.yaml_text import MAX_FILE_BYTES
from reconciler.policy.tree import read_tree
from tests.policy.texts import NOW

HEAD = "apiVersion: reconciler.dev/v1alpha1\nkind: NodeGroupPolicy\nmetadata: {name: prod}\nspec:\n"
_MANY = 900_000


def _scalar(text: str) -> str:
    return f"  humanHoldTime: {text}\n"


def _windows(schedule: Callable[[int, int], str]) -> str:
    def tier(number: int) -> str:
        windows = ", ".join(f"{{schedule: '{schedule(number, at)}', duration: 1h, size: {{min: 9, max: 1}}}}" for at in range(50))
        return f"{{name: t{number}, defaults: {{windows: [{windows}]}}}}"

    return f"  tiers: [{', '.join(map(tier, range(150)))}]\n"


TEXTS: Mapping[str, str] = {
    "digits": _scalar("1" * _MANY),
    "digits that are none": _scalar("1" * _MANY + "x"),
    "digits and underscores": _scalar("1_" * (_MANY // 2) + "x"),
    "a number in base 60": _scalar("1" + ":1" * (_MANY // 2) + "x"),
    "a quoted number": _scalar('"' + "1" * _MANY + '"'),
    "a schedule of many terms": f"  budgets: [{{nodes: 1, schedule: '{'*,' * (_MANY // 2)} * * * *', duration: 1h}}]\n",
    "a price": f"  defaults: {{pricePerHour: '{'1,' * (_MANY // 2)}'}}\n",
    "unknown keys": "".join(f"  k{number}: 1\n" for number in range(60_000)),
    "one key": "  mode: Observe\n" * 60_000,
    "labels": "  defaults: {template: {labels: {" + ", ".join(f"'-{n}': x" for n in range(50_000)) + "}}}\n",
    "time zones": "  budgets: [" + "{nodes: 1, timeZone: Europe/Berlln, schedule: 0 0 * * *, duration: 1h}, " * 256 + "]\n",
    "windows of a day that is rare": _windows(lambda number, at: f"{at} {number % 24} 29 2 *"),
    "windows of a day that never comes": _windows(lambda number, at: f"{at} {number % 24} 30 2 *"),
    "characters that are not allowed": "\x01" * _MANY,
    "lists inside each other": "  tiers:\n" + ("  - " + "[" * 28 + "]" * 28 + "\n") * 15_000,
    "windows of every minute": _windows(lambda number, at: f"*/{at + 1} * * * {number % 7}"),
}

if __name__ == "__main__":
    for name, text in TEXTS.items():
        data = (HEAD + text).encode()
        assert len(data) <= MAX_FILE_BYTES, name
        assert read_tree({"p.yaml": data}, now_seconds=NOW).problems, name
        print(name, flush=True)
