"""What every procedure is given: the call, the warehouse, who may ask, and the row engine."""
