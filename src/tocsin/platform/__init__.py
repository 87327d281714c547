"""A node behind its doors, the data pipeline beside it, the demo, and the doctor."""
