"""A look ahead by what decisions foresee, on whole columns, as far as that tells everything that happens. Pure."""
