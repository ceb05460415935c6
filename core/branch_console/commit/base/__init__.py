"""The grounds of every commit: the store, its queue, messages, retries, fences."""
