"""`python -m tensor_assets …`: the command line where no script of it is installed."""

from tensor_assets.cli import main

main()
