"""Values of branches, tags, snapshots and schemas."""
