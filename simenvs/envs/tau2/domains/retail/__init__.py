"""Retail: changes, returns and exchanges of orders. No solo mode."""

from __future__ import annotations

from simenvs.envs.tau2.domains.retail.schema import RetailDB
from simenvs.envs.tau2.domains.retail.tools import RetailTools
from simenvs.envs.tau2.spec import Policy, Side, Spec

SPEC = Spec(
    name="retail",
    assistant=Side(RetailDB, RetailTools, "db.json"),
    policies={"retail": Policy("policy.md")},
)
