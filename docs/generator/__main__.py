"""Regenerate all schemas and reference pages: `python -m docs.generator`. `make generate` calls it."""

from docs.generator.pages import DOCS, PAGES, page
from reconciler.rendering.schemas.generated import generated_files

for name in PAGES:
    (DOCS / name).write_text(page(name), encoding="utf-8")
for name, text in generated_files().items():
    (DOCS.parent / "schemas" / name).write_text(text, encoding="utf-8")
