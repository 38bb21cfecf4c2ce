"""The grammars of values, each read by one parser: tables of texts with what they mean."""
