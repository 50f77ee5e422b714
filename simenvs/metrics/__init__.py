"""What is measured: diversity, closeness to human data, generalisation."""

from simenvs.metrics.diversity import distinct_n, effective_number, entropy
from simenvs.metrics.fidelity import jensen_shannon, ks_distance, wasserstein
from simenvs.metrics.generalisation import (
    Estimate,
    bootstrap_interval,
    detectable_effect,
    mean_interval,
    paired_interval,
)

__all__ = [
    "Estimate",
    "bootstrap_interval",
    "detectable_effect",
    "distinct_n",
    "effective_number",
    "entropy",
    "jensen_shannon",
    "ks_distance",
    "mean_interval",
    "paired_interval",
    "wasserstein",
]
