"""Figures: from a model to Plotly, without a look at the world."""
