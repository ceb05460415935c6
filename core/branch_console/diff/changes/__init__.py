"""A side's changes: commits folded into changes of files, and the grounds of these."""
