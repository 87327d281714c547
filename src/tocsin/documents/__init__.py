"""The JSON documents of the API, used by doors and client alike."""
