"""The process from which Spark forks its Python workers; it imports what they need once."""

from pyspark.daemon import manager

from tocsin.pipeline import task

__all__ = ["task"]

if __name__ == "__main__":
    manager()
