"""What commands write: to a terminal, to files, to a pull request; errors included."""
