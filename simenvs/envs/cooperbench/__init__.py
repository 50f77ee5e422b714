"""CooperBench: two coding agents in one code base. So far its dataset."""

from __future__ import annotations

from simenvs.envs.cooperbench.dataset import CodeBase, Dataset, Feature, Pair, load_dataset

__all__ = ["CodeBase", "Dataset", "Feature", "Pair", "load_dataset"]
