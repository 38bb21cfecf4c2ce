"""The tables of the field model: one file per part of the documents."""
