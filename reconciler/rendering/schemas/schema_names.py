"""Names of the generated schemas."""

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def schema_id(name: str) -> str:
    """The identity of a schema: a name in the project's own domain. Nothing is fetched from it."""
    return f"https://reconciler.dev/schemas/v1alpha1/{name}.schema.json"
