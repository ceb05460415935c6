"""The models of the page Maintenance: files to remove, reasons to keep some, and freed bytes."""
