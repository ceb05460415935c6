"""The models of the catalog's pages: its branches as lanes, and objects by branch."""
