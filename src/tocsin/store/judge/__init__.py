"""Expressions of subscribers, evaluated in a process that can be killed."""
