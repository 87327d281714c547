"""The two languages of graph patterns."""
