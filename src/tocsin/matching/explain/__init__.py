"""Why a subscription wants a notification, or does not."""
