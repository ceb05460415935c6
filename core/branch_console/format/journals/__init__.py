"""The journal of each operation: a frozen class, and the codec that reads and writes it."""
