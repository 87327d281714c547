"""Explanations of why a subscription wants a notification or not."""
