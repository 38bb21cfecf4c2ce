"""Which quick tests watch which package: those of its own folder, the ones that name the changed module first."""

from pathlib import Path

from tests.mutants.mutant import ROOT

AREAS: dict[str, tuple[str, ...]] = {
    "reconciler/decisions": ("tests/decisions", "tests/golden_plans"),
    "reconciler/scheduling": ("tests/scheduling", "tests/kernels"),
    "reconciler/control": ("tests/control",),
    "reconciler/kube": ("tests/kube",),
    "reconciler/providers": ("tests/providers",),
    "reconciler/gitops": ("tests/gitops",),
}
# Sources of compiled code: what is tested is what was built.
_COMPILED = ("reconciler/scheduling/kernels/",)


def sources() -> list[str]:
    """All files that mutants are made of, sorted."""
    found = [str(path.relative_to(ROOT)) for area in AREAS for path in sorted((ROOT / area).rglob("*.py"))]
    return [file for file in found if not file.startswith(_COMPILED) and (ROOT / file).stat().st_size > 200]


def quick_tests(file: str) -> list[str]:
    """The test files of the file's area: those that name its module or are named like it, those that name its package, the
    others."""
    area = next(name for name in AREAS if file.startswith(name + "/"))
    module = file.removesuffix(".py").replace("/", ".")
    found = [path for folder in AREAS[area] for path in sorted((ROOT / folder).rglob("test_*.py"))]
    return [str(path.relative_to(ROOT)) for path in sorted(found, key=lambda path: (_distance(path, module), path))]


def _distance(path: Path, module: str) -> int:
    text = path.read_text(encoding="utf-8")
    package, _, name = module.rpartition(".")
    if module in text or name.removesuffix("s") in path.stem:
        return 0
    return 1 if package in text else 2
