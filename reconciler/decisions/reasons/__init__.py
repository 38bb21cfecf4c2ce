"""Every reason that a decision can give: one type per code, grouped by subject."""
