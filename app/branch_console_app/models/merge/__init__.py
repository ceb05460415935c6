"""Values of a merge: plan, figures, conflicts, resolutions."""
