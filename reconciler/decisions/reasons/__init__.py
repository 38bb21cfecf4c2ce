"""Every reason that a decision can give: one type a code, grouped by what it speaks of."""
