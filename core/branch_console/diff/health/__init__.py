"""What may break a branch by itself: findings, what rules know, and the rules by their subject."""
