"""How any procedure runs: plan, prepare, check the heads, write the journal, publish, receipt."""
