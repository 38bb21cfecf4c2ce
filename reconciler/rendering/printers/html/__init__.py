"""Plans and previews as one HTML file that needs nothing else. Pure."""
