"""A message and what follows from it, as two sentences of one text."""


def two_sentences(first: str, second: str) -> str:
    """`no such file. Name it with --policy`: the second begins with a capital letter. Only one where the other is empty."""
    return f"{first}. {second[:1].upper()}{second[1:]}" if first and second else first or second
