"""Write the generated pages anew: `python -m docs.generator`."""

from docs.generator.pages import DOCS, pages

for name, text in pages().items():
    (DOCS / name).write_text(text, encoding="utf-8")
