"""The one door through which XML enters."""
