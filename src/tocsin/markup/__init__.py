"""XML's one entrance, and the content languages: XPath, JSONPath, CloudEvents SQL, ItemFilter, graph patterns."""
