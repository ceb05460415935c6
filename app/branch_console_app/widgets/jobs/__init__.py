"""Parts about jobs and their answers."""
