"""Values that many pages use: words, places, actions, answers."""
