"""A plan as a document: each section is data that every printer lays out."""
