"""What may leave a table: which files each reference needs, and which snapshots an expiry takes."""
