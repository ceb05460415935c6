"""The commands that look after tables: policies, and what they have run by themselves."""
