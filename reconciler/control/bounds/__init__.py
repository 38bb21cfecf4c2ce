"""The bounds that admission policies hold our account to, renewed as the policy changes: by another account than ours."""
