"""Hotel: a guest's stay, our own domain; the front desk on one side, the app and the room on the other.

Made by ``tasks/tau2/make_hotel.py``; see ``tasks/tau2/CARD.md``.
"""

from __future__ import annotations

from simenvs.envs.tau2.domains.hotel.schema import GuestDB, HotelDB
from simenvs.envs.tau2.domains.hotel.tools import HotelTools
from simenvs.envs.tau2.domains.hotel.user_tools import GuestTools, sync
from simenvs.envs.tau2.spec import Policy, Side, Spec

SPEC = Spec(
    name="hotel",
    assistant=Side(HotelDB, HotelTools, "db.json"),
    user=Side(GuestDB, GuestTools, "user_db.json"),
    policies={"hotel": Policy("policy.md", "policy_solo.md")},
    sync=sync,
    gold_syncs=True,
)
