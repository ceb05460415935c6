"""What pages of the catalog show: its branches as lanes, and objects by branch."""
