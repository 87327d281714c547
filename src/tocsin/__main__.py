"""`python -m tocsin`."""

from tocsin.cli import main

main()
