"""What the user's phone and the company's systems tell each other."""

from __future__ import annotations

from typing import cast

from simenvs.envs.tau2.domains.telecom.schema import LineStatus, PaymentRequest
from simenvs.envs.tau2.domains.telecom.tools import TelecomTools
from simenvs.envs.tau2.domains.telecom.user_tools import TelecomUserTools
from simenvs.envs.tau2.toolkit import Toolkit


def sync(tools: Toolkit, user_tools: Toolkit | None) -> None:
    """Bring both sides up to date: the line as the phone finds it, payments as the company does.

    Raises:
        ValueError: if the user's phone number has no line.
    """
    company, user = cast(TelecomTools, tools), cast(TelecomUserTools, user_tools)
    number = user.surroundings["phone_number"]
    if number is None:
        return
    line = company.line_of_phone(number)
    limit = company.plan(line["plan_id"])["data_limit_gb"] + line["data_refueling_gb"]
    _set(user, "line_active", line["status"] == LineStatus.ACTIVE)
    _set(user, "roaming_allowed", bool(line["roaming_enabled"]))
    _set(user, "mobile_data_usage_exceeded", line["data_used_gb"] >= limit)
    request = user.surroundings["payment_request"]
    if request is not None and request["paid"]:
        company.set_bill_to_paid(request["bill_id"])
        _set(user, "payment_request", None)
    if user.surroundings["payment_request"] is None:
        bill = company.bill_awaiting_payment(company.get_customer_by_phone(number))
        if bill is not None:
            asked = PaymentRequest(bill_id=bill["bill_id"], amount_due=bill["total_due"])
            _set(user, "payment_request", asked.model_dump())


def _set(user: TelecomUserTools, field: str, value: object) -> None:
    if user.surroundings[field] != value:
        user.edit_surroundings()[field] = value
