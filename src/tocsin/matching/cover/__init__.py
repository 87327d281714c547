"""Whether one filter takes in all that another lets through."""
