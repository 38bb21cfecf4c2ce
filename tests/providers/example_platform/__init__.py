"""A made-up cloud called Orchard, whose targets are rows of trees: all that a platform brings is in this folder."""
