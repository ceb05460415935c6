"""What a side changed: commits folded into changes of files, and what these rest on."""
