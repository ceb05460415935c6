"""Making one snapshot: manifests, conflicts, the loop that publishes it."""
