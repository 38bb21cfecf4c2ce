"""What is read from the JSON of its objects, offline and live alike."""
