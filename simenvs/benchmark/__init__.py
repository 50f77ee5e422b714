"""Experiments: training against simulators and measuring with held-out ones."""
