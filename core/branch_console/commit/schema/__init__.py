"""Publishing schemas and tags."""
