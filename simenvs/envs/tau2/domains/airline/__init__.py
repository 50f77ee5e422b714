"""Airline: bookings, changes and cancellations of flights. No solo mode."""

from __future__ import annotations

from simenvs.envs.tau2.domains.airline.schema import FlightDB
from simenvs.envs.tau2.domains.airline.tools import AirlineTools
from simenvs.envs.tau2.spec import Policy, Side, Spec

SPEC = Spec(
    name="airline",
    assistant=Side(FlightDB, AirlineTools, "db.json"),
    policies={"airline": Policy("policy.md")},
)
