"""What pages of the catalog draw: the card of a branch, its dialogs, objects by branch."""
