"""Reports on what the tables hold: summed by Spark, told in tables, JSON and a page of plots."""
