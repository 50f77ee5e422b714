"""Where the official data is installed."""

from __future__ import annotations

import os
from pathlib import Path


def installed_data() -> Path:
    """The folder of the installed data: ``$XDG_DATA_HOME/simenvs/tau2``, ``~/.local/share`` by default."""
    home = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(home) / "simenvs" / "tau2"
