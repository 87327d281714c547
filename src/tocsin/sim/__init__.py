"""The seeded simulator: machines by the thousand in one process, on a clock of its own."""
