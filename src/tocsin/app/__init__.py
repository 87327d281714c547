"""The composition root: configuration, lifecycle, the shell that runs effects. It never imports `pipeline`."""
