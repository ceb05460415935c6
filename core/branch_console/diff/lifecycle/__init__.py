"""What a maintenance policy says: when which branch is stale, what follows, what runs by itself."""
