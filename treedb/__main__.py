"""`python -m treedb` is the command `treedb`."""

from treedb.cli.main import main

main()
