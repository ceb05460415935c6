"""The Spark session, its Java and Python processes, and Arrow on its way through tasks."""
