"""Making, copying, moving and rescuing branches."""
