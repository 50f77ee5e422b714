"""Mock: a to-do list, small enough to read while testing."""

from __future__ import annotations

from simenvs.envs.tau2.domains.mock.schema import MockDB, MockUserDB
from simenvs.envs.tau2.domains.mock.tools import MockTools, MockUserTools
from simenvs.envs.tau2.spec import Policy, Side, Spec

SPEC = Spec(
    name="mock",
    assistant=Side(MockDB, MockTools, "db.json"),
    user=Side(MockUserDB, MockUserTools, "user_db.json"),
    policies={"mock": Policy("policy.md", "policy_solo.md")},
)
