"""Problems of a policy tree as text, JSON, SARIF and GitHub annotations."""
