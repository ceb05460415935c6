"""The procedures of the product, each a walk through the packages below.

Knows what a person may ask for and who may ask. Does not know Spark, jobs or Streamlit.
"""
