"""A plugin with which agents' pytest reports no durations, for the clock can't be fixed in a sandbox."""

from __future__ import annotations

import _pytest.timing as timing

timing.time = lambda: 946684800.0
timing.perf_counter = lambda: 0.0
