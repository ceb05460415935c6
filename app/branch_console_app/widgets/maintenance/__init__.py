"""The tabs of the page Maintenance."""
