"""The models of pages: pure values made from core values."""
