"""What each operation notes of its plan: a frozen class, and the codec that reads and writes it."""
