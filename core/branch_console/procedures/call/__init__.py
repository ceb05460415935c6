"""The common inputs of procedures: the call, the warehouse, permissions and the row engine."""
