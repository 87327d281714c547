"""The tables in Delta Lake: their schemas, how tasks write them, how the driver commits them, how they are read."""
