"""Subscriptions and declarations as files beside the tables, so that tasks on any machine can be as of any record."""
