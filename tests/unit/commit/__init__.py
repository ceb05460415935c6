"""Tests of branch_console.commit."""
