"""`python -m dissensus`."""

from dissensus.cli import main

main()
