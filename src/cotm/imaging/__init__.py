"""Images from images."""
