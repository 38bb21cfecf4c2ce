"""The bottom layer: how texts and JSON of any origin are read into plain values; it knows no policy and no cluster."""
