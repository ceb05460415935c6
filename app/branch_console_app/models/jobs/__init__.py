"""Values of jobs, receipts and the ledger."""
