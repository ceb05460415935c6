"""The widgets of the catalog's pages: the card of a branch, its dialogs, objects by branch."""
