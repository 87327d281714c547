"""Those who are sent to: the secrets they are shown, their consent, and what happens when they fail."""
