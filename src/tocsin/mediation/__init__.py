"""Bytes to model and back: one module of tables and rules a specification (the NPC model of WS-Messenger)."""
