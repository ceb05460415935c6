"""Parts about branches, tags, snapshots and the ledger."""
