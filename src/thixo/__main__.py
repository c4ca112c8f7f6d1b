"""`python -m thixo` is the command `thixo`."""

import sys

from thixo.cli import main

if __name__ == "__main__":
    sys.exit(main())
