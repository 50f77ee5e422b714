"""``python -m simenvs``."""

import sys

from simenvs.cli import main

if __name__ == "__main__":
    sys.exit(main())
