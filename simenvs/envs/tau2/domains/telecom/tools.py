"""The assistant's tools of the telecom domain (official interface: ``domains/telecom/tools.py``)."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from simenvs.envs.tau2.domains.telecom.schema import BillStatus, LineStatus
from simenvs.envs.tau2.toolkit import Toolkit, tool

TODAY = "2025-02-25"
LAST_MONTH = ("2025-01-01", "2025-01-31")
NEXT_MONTH = ("2025-03-01", "2025-03-31")
DUE_LAST_MONTH = "2025-01-15"
DUE_NEXT_MONTH = "2025-03-15"
CYCLE_END = "2025-02-28"

CustomerId = Annotated[str, Field(description="id of the customer, such as 'C1001'")]
LineId = Annotated[str, Field(description="id of the line, such as 'L1001'")]
BillId = Annotated[str, Field(description="id of the bill, such as 'B1001'")]


class TelecomTools(Toolkit):
    """The assistant's tools."""

    @tool("read")
    def get_customer_by_phone(
        self, phone_number: Annotated[str, Field(description="of the customer or of a line")]
    ) -> Any:
        """Find a customer by their phone number or that of one of their lines."""
        for customer in self.db.customers.values():
            if customer["phone_number"] == phone_number:
                return customer
            for line_id in customer["line_ids"]:
                if self._line(line_id)["phone_number"] == phone_number:
                    return customer
        raise ValueError(f"Customer with phone number {phone_number} not found")

    @tool("read")
    def get_customer_by_id(self, customer_id: CustomerId) -> Any:
        """Find a customer by id."""
        return self.db.customers[self._customer_at(customer_id)]

    @tool("read")
    def get_customer_by_name(
        self, full_name: str, dob: Annotated[str, Field(description="YYYY-MM-DD")]
    ) -> Any:
        """List the customers of this name and date of birth."""
        return [
            customer
            for customer in self.db.customers.values()
            if customer["full_name"].lower() == full_name.lower()
            and customer["date_of_birth"] == dob
        ]

    @tool("read")
    def get_details_by_id(
        self, id: Annotated[str, Field(description="of a customer, line, device, bill or plan")]
    ) -> Any:
        """Give what an id stands for."""
        if id.startswith("L"):
            return self._line(id)
        if id.startswith("D"):
            for device in self.db.devices.values():
                if device["device_id"] == id:
                    return device
            raise ValueError(f"Device with ID {id} not found")
        if id.startswith("B"):
            return self.db.bills[self._bill_at(id)]
        if id.startswith("C"):
            return self.get_customer_by_id(id)
        if id.startswith("P"):
            return self.plan(id)
        raise ValueError(f"Unknown ID format or type: {id}")

    @tool("write")
    def suspend_line(self, customer_id: CustomerId, line_id: LineId, reason: str) -> Any:
        """Suspend an active line, for 6 months at most."""
        at = self._owned_line_at(customer_id, line_id)
        if self.db.lines[at]["status"] != LineStatus.ACTIVE:
            raise ValueError("Line must be active to suspend")
        line = self.db.lines.edit(at)
        line["status"] = LineStatus.SUSPENDED.value
        line["suspension_start_date"] = TODAY
        message = "Line suspended successfully. $5/month holding fee will apply."
        return {"message": message, "line": line}

    @tool("write")
    def resume_line(self, customer_id: CustomerId, line_id: LineId) -> Any:
        """Make a line active that is suspended or waits for its activation."""
        at = self._owned_line_at(customer_id, line_id)
        resumable = (LineStatus.SUSPENDED, LineStatus.PENDING_ACTIVATION)
        if self.db.lines[at]["status"] not in resumable:
            raise ValueError("Line must be suspended to resume")
        line = self.db.lines.edit(at)
        line["status"] = LineStatus.ACTIVE.value
        line["suspension_start_date"] = None
        return {"message": "Line resumed successfully", "line": line}

    @tool("read")
    def get_bills_for_customer(self, customer_id: CustomerId, limit: int = 12) -> Any:
        """List a customer's bills, newest first."""
        customer = self.get_customer_by_id(customer_id)
        bills = [self.db.bills[self._bill_at(bill_id)] for bill_id in customer["bill_ids"]]
        return sorted(bills, key=lambda bill: str(bill["issue_date"]), reverse=True)[:limit]

    @tool("write")
    def send_payment_request(self, customer_id: CustomerId, bill_id: BillId) -> str:
        """Ask a customer to pay a bill; one bill at a time.

        It isn't checked whether the bill is paid already; check its status first.
        """
        customer = self.get_customer_by_id(customer_id)
        if self.bill_awaiting_payment(customer) is not None:
            raise ValueError("A bill is already awaiting payment for this customer")
        if bill_id not in customer["bill_ids"]:
            raise ValueError(f"Bill {bill_id} not found for customer {customer_id}")
        at = self._bill_at(bill_id)
        self.db.bills.edit(at)["status"] = BillStatus.AWAITING_PAYMENT.value
        return f"Payment request sent to the customer for bill {bill_id}"

    @tool("read")
    def get_data_usage(self, customer_id: CustomerId, line_id: LineId) -> Any:
        """Give the data that a line has used this month, its limit and what was added, in GB."""
        line = self.db.lines[self._owned_line_at(customer_id, line_id)]
        return {
            "line_id": str(line_id),
            "data_used_gb": str(line["data_used_gb"]),
            "data_limit_gb": str(self.plan(line["plan_id"])["data_limit_gb"]),
            "data_refueling_gb": str(line["data_refueling_gb"]),
            "cycle_end_date": CYCLE_END,
        }

    @tool("write")
    def enable_roaming(self, customer_id: CustomerId, line_id: LineId) -> str:
        """Allow a line to be used abroad."""
        at = self._owned_line_at(customer_id, line_id)
        if self.db.lines[at]["roaming_enabled"]:
            return "Roaming was already enabled"
        self.db.lines.edit(at)["roaming_enabled"] = True
        return "Roaming enabled successfully"

    @tool("write")
    def disable_roaming(self, customer_id: CustomerId, line_id: LineId) -> str:
        """Forbid a line to be used abroad."""
        at = self._owned_line_at(customer_id, line_id)
        if not self.db.lines[at]["roaming_enabled"]:
            return "Roaming was already disabled"
        self.db.lines.edit(at)["roaming_enabled"] = False
        return "Roaming disabled successfully"

    @tool("generic")
    def transfer_to_human_agents(self, summary: str) -> str:
        """Hand the user over to a human, with a summary of what they need.

        Only if the user asks for a human, or if neither policy nor tools allow a solution.
        """
        return "Transfer successful"

    @tool("write")
    def refuel_data(
        self,
        customer_id: CustomerId,
        line_id: LineId,
        gb_amount: Annotated[float, Field(description="gigabytes to add, above 0")],
    ) -> Any:
        """Add data to a line for this month and charge the customer by the plan's price."""
        at = self._owned_line_at(customer_id, line_id)
        if gb_amount <= 0:
            raise ValueError("Refuel amount must be positive")
        price = self.plan(self.db.lines[at]["plan_id"])["data_refueling_price_per_gb"]
        charge = gb_amount * price
        line = self.db.lines.edit(at)
        line["data_refueling_gb"] += gb_amount
        self._charge(customer_id, charge, f"Data refueling: {gb_amount} GB at ${price}/GB")
        return {
            "message": (
                f"Successfully added {gb_amount} GB of data for line {line_id} for ${charge:.2f}"
            ),
            "new_data_refueling_gb": str(line["data_refueling_gb"]),
            "charge": str(charge),
        }

    # -- what a task's start or the other side does ---------------------------------------------

    def get_available_plan_ids(self) -> list[str]:
        """The ids of all plans."""
        return [plan["plan_id"] for plan in self.db.plans.values()]

    def set_data_usage(self, customer_id: str, line_id: str, data_used_gb: float) -> str:
        """Set the data that a line has used this month."""
        at = self._owned_line_at(customer_id, line_id)
        self.db.lines.edit(at)["data_used_gb"] = data_used_gb
        return f"Data usage set to {data_used_gb} GB for line {line_id}"

    def suspend_line_for_overdue_bill(
        self, customer_id: str, line_id: str, new_bill_id: str, contract_ended: bool
    ) -> str:
        """Suspend an active line for a bill of last month that is overdue."""
        at = self._line_at(line_id)
        line = self.db.lines[at]
        if line["status"] != LineStatus.ACTIVE:
            raise ValueError("Line must be active to suspend for unpaid bill")
        amount = self.plan(line["plan_id"])["price_per_month"]
        if amount <= 0:
            raise ValueError("Amount must be positive for overdue bill")
        customer_at = self._customer_at(customer_id)
        for bill_id in self.db.customers[customer_at]["bill_ids"]:
            if self.db.bills[self._bill_at(bill_id)]["status"] == BillStatus.OVERDUE:
                raise ValueError("Customer already has an overdue bill")
        bill = _bill(
            new_bill_id, customer_id, LAST_MONTH, DUE_LAST_MONTH, status=BillStatus.OVERDUE
        )
        _add(bill, f"Charge for line {line['line_id']}", amount)
        self.db.bills.append(bill)
        self.db.customers.edit(customer_at)["bill_ids"].append(new_bill_id)
        line = self.db.lines.edit(at)
        line["status"] = LineStatus.SUSPENDED.value
        line["suspension_start_date"] = TODAY
        if contract_ended:
            line["contract_end_date"] = LAST_MONTH[1]
        return (
            f"Line {line_id} suspended for unpaid bill {new_bill_id}."
            f" Contract ended: {contract_ended}"
        )

    def line_of_phone(self, phone_number: str) -> Any:
        """The line of a phone number."""
        for line in self.db.lines.values():
            if line["phone_number"] == phone_number:
                return line
        raise ValueError(f"Line with phone number {phone_number} not found")

    def plan(self, plan_id: str) -> Any:
        """A plan."""
        for plan in self.db.plans.values():
            if plan["plan_id"] == plan_id:
                return plan
        raise ValueError(f"Plan with ID {plan_id} not found")

    def bill_awaiting_payment(self, customer: Any) -> Any:
        """The customer's first bill that awaits its payment, ``None`` if there is none."""
        found = None
        for bill_id in customer["bill_ids"]:
            bill = self.db.bills[self._bill_at(bill_id)]
            if found is None and bill["status"] == BillStatus.AWAITING_PAYMENT:
                found = bill
        return found

    def set_bill_to_paid(self, bill_id: str) -> None:
        """Mark a bill as paid."""
        self.db.bills.edit(self._bill_at(bill_id))["status"] = BillStatus.PAID.value

    # -- what a task asserts --------------------------------------------------------------------

    def assert_data_refueling_amount(
        self, customer_id: str, line_id: str, expected_amount: float
    ) -> bool:
        """Whether this much data was added to the line."""
        line = self.db.lines[self._owned_line_at(customer_id, line_id)]
        return bool(abs(line["data_refueling_gb"] - expected_amount) < 1e-6)

    def assert_line_status(
        self, customer_id: str, line_id: str, expected_status: LineStatus
    ) -> bool:
        """Whether the line has this status."""
        line = self.db.lines[self._owned_line_at(customer_id, line_id)]
        return bool(line["status"] == expected_status)

    def assert_overdue_bill_exists(self, customer_id: str, overdue_bill_id: str) -> bool:
        """``True`` if the customer has this bill and it is overdue; raises otherwise."""
        customer = self.get_customer_by_id(customer_id)
        if overdue_bill_id not in customer["bill_ids"]:
            raise ValueError(f"Overdue bill {overdue_bill_id} not found")
        if self.db.bills[self._bill_at(overdue_bill_id)]["status"] != BillStatus.OVERDUE:
            raise ValueError(f"Overdue bill {overdue_bill_id} is not overdue")
        return True

    def assert_no_overdue_bill(self, overdue_bill_id: str) -> bool:
        """Whether the bill is paid or doesn't exist."""
        try:
            bill = self.db.bills[self._bill_at(overdue_bill_id)]
        except ValueError:
            return True
        return bool(bill["status"] == BillStatus.PAID)

    # -- lookups --------------------------------------------------------------------------------

    def _line(self, line_id: str) -> Any:
        return self.db.lines[self._line_at(line_id)]

    def _line_at(self, line_id: str) -> int:
        return self._at("lines", "line_id", line_id, "Line")

    def _bill_at(self, bill_id: str) -> int:
        return self._at("bills", "bill_id", bill_id, "Bill")

    def _customer_at(self, customer_id: str) -> int:
        return self._at("customers", "customer_id", customer_id, "Customer")

    def _at(self, table: str, field: str, value: str, called: str) -> int:
        for at, record in enumerate(getattr(self.db, table).values()):
            if record[field] == value:
                return at
        raise ValueError(f"{called} with ID {value} not found")

    def _owned_line_at(self, customer_id: str, line_id: str) -> int:
        if line_id not in self.get_customer_by_id(customer_id)["line_ids"]:
            raise ValueError(f"Line {line_id} not found for customer {customer_id}")
        return self._line_at(line_id)

    # -- bills ----------------------------------------------------------------------------------

    def _charge(self, customer_id: str, amount: float, description: str) -> None:
        """Put an entry on the customer's draft bill for next month."""
        customer_at = self._customer_at(customer_id)
        for bill_id in self.db.customers[customer_at]["bill_ids"]:
            at = self._bill_at(bill_id)
            if self.db.bills[at]["status"] == BillStatus.DRAFT:
                _add(self.db.bills.edit(at), description, amount)
                return
        # The official tool draws this id from the operating system; here it follows from the seed.
        bill_id = f"B{self.rng.child(len(self.db.bills)).bits() >> 32:08x}"
        bill = _bill(bill_id, customer_id, NEXT_MONTH, DUE_NEXT_MONTH, status=BillStatus.DRAFT)
        _add(bill, description, amount)
        self.db.bills.append(bill)
        self.db.customers.edit(customer_at)["bill_ids"].append(bill_id)


def _bill(
    bill_id: str, customer_id: str, period: tuple[str, str], due: str, *, status: BillStatus
) -> dict[str, Any]:
    return {
        "bill_id": bill_id,
        "customer_id": customer_id,
        "period_start": period[0],
        "period_end": period[1],
        "issue_date": period[0],
        "total_due": 0.0,
        "due_date": due,
        "line_items": [],
        "status": status.value,
    }


def _add(bill: dict[str, Any], description: str, amount: float) -> None:
    bill["line_items"].append(
        {
            "description": description,
            "amount": float(amount),
            "date": TODAY,
            "item_type": "Credit" if amount < 0 else "Charge",
        }
    )
    bill["total_due"] += amount
