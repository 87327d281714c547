"""Implicit notification (paper 000, s3 and s4): notifiers that pass a message on along the graph of interests."""
