"""Parts that every page draws: rows, figures, previews, dialogs, problems."""
