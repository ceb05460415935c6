"""What every commit rests on: the store, its queue, messages, retries, fences."""
