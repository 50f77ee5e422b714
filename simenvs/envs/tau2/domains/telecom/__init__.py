"""Telecom: lines, bills and the user's phone.

The assistant sees the company's systems, the user their phone; most problems need both. Policies: the
manual (``telecom``) or the same as a workflow (``telecom-workflow``), each also for solo mode.
"""

from __future__ import annotations

from simenvs.envs.tau2.domains.telecom.schema import TelecomDB, TelecomUserDB
from simenvs.envs.tau2.domains.telecom.sync import sync
from simenvs.envs.tau2.domains.telecom.tools import TelecomTools
from simenvs.envs.tau2.domains.telecom.user_tools import TelecomUserTools
from simenvs.envs.tau2.spec import Policy, Side, Spec

MANUAL = {"main_policy": "main_policy.md", "tech_support_policy": "tech_support_manual.md"}
WORKFLOW = {**MANUAL, "tech_support_policy": "tech_support_workflow.md"}
SOLO = "main_policy_solo.md"

SPEC = Spec(
    name="telecom",
    assistant=Side(TelecomDB, TelecomTools, "db.toml"),
    user=Side(TelecomUserDB, TelecomUserTools, "user_db.toml"),
    policies={
        "telecom": Policy(MANUAL, {**MANUAL, "main_policy": SOLO}),
        "telecom-workflow": Policy(
            WORKFLOW,
            {"main_policy": SOLO, "tech_support_policy": "tech_support_workflow_solo.md"},
        ),
    },
    sync=sync,
)
