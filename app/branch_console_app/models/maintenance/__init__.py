"""What the page Maintenance shows: what goes, what stays and why, what it frees."""
