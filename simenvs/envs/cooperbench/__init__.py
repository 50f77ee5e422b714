"""CooperBench: two coding agents in one code base. So far its dataset, and merging."""

from __future__ import annotations

from simenvs.envs.cooperbench.dataset import CodeBase, Dataset, Feature, Pair, load_dataset
from simenvs.envs.cooperbench.merging import Merge, merge

__all__ = ["CodeBase", "Dataset", "Feature", "Merge", "Pair", "load_dataset", "merge"]
