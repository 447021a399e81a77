"""``python -m attnproofs`` is the console script."""

from attnproofs.cli import main

main()
