"""The process Spark forks its Python workers from: what they need is imported before, once for all of them."""

from pyspark.daemon import manager

from tocsin.pipeline import task

__all__ = ["task"]

if __name__ == "__main__":
    manager()
