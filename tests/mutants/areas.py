"""Which quick tests watch which package: those of its layer."""

import re

from tests.mutants.mutant import ROOT

# The table of behaviours and what other autoscalers do are about several layers.
_TABLES = ("tests/rows", "tests/conformance", "tests/scenarios")
_PLATFORMS = ("tests/providers", "tests/aws", "tests/crusoe", "tests/openshift", "tests/cluster", *_TABLES)
AREAS: dict[str, tuple[str, ...]] = {
    "reconciler/decisions": ("tests/decisions", "tests/golden_plans", "tests/properties", *_TABLES),
    "reconciler/scheduling": ("tests/scheduling", "tests/kernels", *_TABLES),
    "reconciler/control": ("tests/control", "tests/cli", *_TABLES),
    "reconciler/kube": ("tests/kube", *_TABLES),
    "reconciler/providers": _PLATFORMS,
    "reconciler/platforms": _PLATFORMS,
    "reconciler/gitops": ("tests/gitops",),
}
# Sources of compiled code: what is tested is what was built.
_COMPILED = ("reconciler/scheduling/kernels/",)


def sources() -> list[str]:
    """All files that mutants are made of, sorted."""
    found = [str(path.relative_to(ROOT)) for area in AREAS for path in sorted((ROOT / area).rglob("*.py"))]
    return [file for file in found if not file.startswith(_COMPILED) and (ROOT / file).stat().st_size > 200]


def area_of(file: str) -> str:
    """The area of a file of the product."""
    return next(area for area in AREAS if file.startswith(area + "/"))


def importing(file: str) -> set[str]:
    """The file and those that import from it or name its module, or ask every platform for its module of that name: what it
    works out as it is loaded is seen there."""
    module = file.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
    package, _, name = module.rpartition(".")
    named = re.compile(rf"(from|import) {re.escape(module)}\b|from {re.escape(package)} import .*\b{name}\b|parts\(\"{name}\"")
    every = (ROOT / "reconciler").rglob("*.py")
    return {file} | {str(path.relative_to(ROOT)) for path in every if named.search(path.read_text("utf-8"))}
