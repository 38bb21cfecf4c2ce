"""Least hourly cost over mixes of groups: a greedy start, columns of fillings, whole numbers by HiGHS."""
