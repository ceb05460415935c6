"""The pages: each reads, makes a model, draws it, and sends commands."""
