"""A plan, a comparison or a list of problems as text, markdown, JSON, SARIF, GitHub annotations. Pure."""
