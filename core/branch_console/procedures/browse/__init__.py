"""Reading procedures: what pages and commands show of tables, branches and their health."""
