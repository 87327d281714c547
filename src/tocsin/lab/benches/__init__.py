"""One module a benchmark; a module whose name begins with an underscore helps one."""
