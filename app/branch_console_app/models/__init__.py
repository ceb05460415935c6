"""What a page shows, as pure values made from core values."""
