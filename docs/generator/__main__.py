"""Write the generated pages anew: `python -m docs.generator`."""

from docs.generator.pages import DOCS, PAGES, page

for name in PAGES:
    (DOCS / name).write_text(page(name), encoding="utf-8")
