"""The tables of the field model: one file a part of the documents."""
