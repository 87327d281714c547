"""The papers' tables and figures, measured here."""
