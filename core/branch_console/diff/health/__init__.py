"""Dangers to a branch: findings, the facts of the rules, and the rules by subject."""
