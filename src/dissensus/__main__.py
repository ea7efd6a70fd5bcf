"""`python -m dissensus`."""

from dissensus.cli.app import main

main()
