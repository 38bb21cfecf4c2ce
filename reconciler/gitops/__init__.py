"""Git source and signatures, preview, pull-request comment. Edge."""
