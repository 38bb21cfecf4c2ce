"""The facts of one target kind, read from its JSON: size, annotations, template, owner evidence. Pure."""
