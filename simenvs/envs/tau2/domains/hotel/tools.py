"""The front desk's tools."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Any

from pydantic import Field

from simenvs.envs.tau2.domains.hotel.schema import (
    Charge,
    Offer,
    OfferKind,
    Request,
    RequestKind,
    RoomType,
    WaiverReason,
)
from simenvs.envs.tau2.toolkit import Toolkit, tool

TODAY = "2026-05-12"
LATE_CHECKOUT = {"none": 30, "silver": 15, "gold": 0}
BREAKFAST = 18
FREE_CANCELLATION_DAYS = 2

StayId = Annotated[str, Field(description="id of the stay, such as 'S104'")]
RoomNumber = Annotated[str, Field(description="such as '312'")]
Day = Annotated[str, Field(description="YYYY-MM-DD")]


class HotelTools(Toolkit):
    """The front desk's tools."""

    @tool("read")
    def find_guest_by_email(self, email: str) -> Any:
        """Find a guest by email; gives name, membership and ids of stays."""
        for guest in self.db.guests.values():
            if guest["email"].lower() == email.lower():
                return guest
        raise ValueError(f"No guest with the email {email}")

    @tool("read")
    def find_guest_by_room(self, room: RoomNumber, last_name: str) -> Any:
        """Find the guest who is in a room, by last name; gives name, membership and ids of stays."""
        for stay in self.db.stays.values():
            if stay["room"] == room and stay["status"] == "checked_in":
                guest = self.db.guests[stay["guest_id"]]
                if guest["last_name"].lower() == last_name.lower():
                    return guest
        raise ValueError(f"No guest {last_name} in room {room}")

    @tool("read")
    def get_stay(self, stay_id: StayId) -> Any:
        """Give a stay: room, dates, rate, services, charges, key."""
        return self._stay(stay_id)

    @tool("read")
    def list_free_rooms(self, room_type: RoomType, arrival: Day, departure: Day) -> Any:
        """List the rooms of a type that are in order and free from one day to another."""
        return [
            room
            for number, room in self.db.rooms.items()
            if room["room_type"] == room_type
            and room["in_order"]
            and self._is_free(str(number), arrival, departure)
        ]

    @tool("write")
    def change_departure(self, stay_id: StayId, departure: Day) -> Any:
        """Lengthen or shorten a stay, in the same room and at the same rate; gives the stay."""
        stay = self._current(stay_id)
        if _day(departure) <= max(_day(stay["arrival"]), _day(TODAY)):
            raise ValueError("The departure must be after the arrival and after today")
        if not self._is_free(stay["room"], stay["arrival"], departure, without=stay_id):
            raise ValueError(f"Room {stay['room']} is not free until {departure}")
        stay = self.db.stays.edit(stay_id)
        stay["departure"] = departure
        return stay

    @tool("write")
    def issue_key(self, stay_id: StayId) -> str:
        """Issue a new digital key; the old one stops working, and the guest must refresh the app's."""
        if self._stay(stay_id)["status"] != "checked_in":
            raise ValueError("Keys are issued to guests who are checked in")
        stay = self.db.stays.edit(stay_id)
        stay["key_version"] += 1
        return f"Key {stay['key_version']} issued for stay {stay_id}"

    @tool("write")
    def send_offer(self, stay_id: StayId, kind: OfferKind, room: RoomNumber | None = None) -> Any:
        """Offer a service at its price; it takes effect once the guest accepts it in the app.

        ``room`` is for upgrades: the room to move to.
        """
        stay = self._current(stay_id)
        if kind == "late_checkout":
            amount = LATE_CHECKOUT[self.db.guests[stay["guest_id"]]["membership"]]
        elif kind == "breakfast":
            if stay["breakfast"]:
                raise ValueError("Breakfast is included already")
            amount = BREAKFAST * self._nights_left(stay)
        elif kind == "upgrade":
            if room not in self.db.rooms:
                raise ValueError(f"Room {room} not found")
            more = self.db.rooms[room]["rate"] - stay["rate"]
            if more <= 0:
                raise ValueError("An upgrade is a room with a higher rate")
            self._require_free(str(room), stay)
            amount = more * self._nights_left(stay)
        else:
            raise ValueError(f"Unknown kind of offer: {kind}")
        offer_id = f"O{len(self.db.offers) + 1}"
        offer = Offer(offer_id=offer_id, stay_id=stay_id, kind=kind, amount=amount, room=room)
        self.db.offers[offer_id] = record = offer.model_dump()
        return record

    @tool("write")
    def move_room(self, stay_id: StayId, room: RoomNumber) -> Any:
        """Move a guest to another free room at the old rate and with a new key; gives the stay."""
        stay = self._current(stay_id)
        if room not in self.db.rooms:
            raise ValueError(f"Room {room} not found")
        self._require_free(room, stay)
        stay = self.db.stays.edit(stay_id)
        stay["room"] = room
        stay["key_version"] += 1
        stay["controls_work"] = True
        return stay

    @tool("write")
    def waive_charge(
        self,
        stay_id: StayId,
        charge_id: Annotated[str, Field(description="such as 'C1'")],
        reason: WaiverReason,
    ) -> Any:
        """Waive a charge; gives the stay."""
        if reason not in ("not_consumed", "hotel_fault"):
            raise ValueError(f"Unknown reason: {reason}")
        self._stay(stay_id)
        stay = self.db.stays.edit(stay_id)
        for charge in stay["charges"]:
            if charge["charge_id"] == charge_id:
                if charge["waived"]:
                    raise ValueError(f"Charge {charge_id} is waived already")
                charge["waived"] = reason
                return stay
        raise ValueError(f"Charge {charge_id} not found")

    @tool("write")
    def create_request(
        self,
        stay_id: StayId,
        kind: RequestKind,
        note: Annotated[str, Field(description="what is to be done, for the staff")],
    ) -> Any:
        """Send staff to a room; gives the request."""
        self._current(stay_id)
        request_id = f"R{len(self.db.requests) + 1}"
        request = Request(request_id=request_id, stay_id=stay_id, kind=kind)
        self.db.requests[request_id] = record = request.model_dump()
        return record

    @tool("write")
    def cancel_stay(self, stay_id: StayId) -> Any:
        """Cancel a stay before its arrival; within 2 days of it one night is charged. Gives the stay."""
        stay = self._stay(stay_id)
        if stay["status"] != "booked":
            raise ValueError("Only a stay that has not begun can be cancelled")
        notice = (_day(stay["arrival"]) - _day(TODAY)).days
        stay = self.db.stays.edit(stay_id)
        stay["status"] = "cancelled"
        if notice < FREE_CANCELLATION_DAYS:
            self.add_charge(stay_id, "late cancellation", stay["rate"])
        return stay

    @tool("write")
    def reset_room_controls(self, stay_id: StayId) -> str:
        """Restart the controls of the guest's room: thermostat and power."""
        if self._stay(stay_id)["status"] != "checked_in":
            raise ValueError("The guest is not checked in")
        self.db.stays.edit(stay_id)["controls_work"] = True
        return "Room controls restarted"

    @tool("generic")
    def transfer_to_human_agents(self, summary: str) -> str:
        """Hand the guest over to a human, with a summary of what they need.

        Only if the guest asks for a human, or if neither policy nor tools allow a solution.
        """
        return "Transfer successful"

    # -- what a task starts with, and what the other side does ----------------------------------

    def add_charge(self, stay_id: str, item: str, amount: int) -> None:
        """Put an entry on the bill."""
        charges = self.db.stays.edit(stay_id)["charges"]
        charge = Charge(charge_id=f"C{len(charges) + 1}", item=item, amount=amount)
        charges.append(charge.model_dump())

    def break_room_controls(self, stay_id: str) -> None:
        """Let the thermostat hang."""
        self.db.stays.edit(stay_id)["controls_work"] = False

    def issue_key_unnoticed(self, stay_id: str) -> None:
        """Issue a key of which the app knows nothing."""
        self.db.stays.edit(stay_id)["key_version"] += 1

    def answer_offer(self, offer_id: str, answer: str) -> None:
        """Take the guest's answer to an offer."""
        if offer_id not in self.db.offers or self.db.offers[offer_id]["status"] != "sent":
            return
        offer = self.db.offers.edit(offer_id)
        offer["status"] = answer
        if answer != "accepted":
            return
        stay = self.db.stays.edit(offer["stay_id"])
        if offer["kind"] == "upgrade":
            stay["room"] = offer["room"]
            stay["rate"] = self.db.rooms[offer["room"]]["rate"]
            stay["key_version"] += 1
        else:
            stay[offer["kind"]] = True
            if offer["amount"]:
                self.add_charge(offer["stay_id"], offer["kind"], offer["amount"])

    def open_offers(self, stay_id: str) -> dict[str, str]:
        """The offers of a stay that wait for an answer, as the app shows them."""
        return {
            str(offer_id): f"{offer['kind'].replace('_', ' ')} for ${offer['amount']}"
            for offer_id, offer in self.db.offers.items()
            if offer["stay_id"] == stay_id and offer["status"] == "sent"
        }

    # -- what a task asserts --------------------------------------------------------------------

    def assert_stay(self, stay_id: str, field: str, expected: Any) -> bool:
        """Whether a field of the stay has this value."""
        return bool(self._stay(stay_id)[field] == expected)

    # -- lookups --------------------------------------------------------------------------------

    def _stay(self, stay_id: str) -> Any:
        if stay_id not in self.db.stays:
            raise ValueError(f"Stay {stay_id} not found")
        return self.db.stays[stay_id]

    def _current(self, stay_id: str) -> Any:
        stay = self._stay(stay_id)
        if stay["status"] not in ("booked", "checked_in"):
            raise ValueError(f"Stay {stay_id} is over")
        return stay

    def _is_free(self, room: str, arrival: str, departure: str, without: str = "") -> bool:
        start, end = _day(arrival), _day(departure)
        return not any(
            stay["room"] == room
            and stay["stay_id"] != without
            and stay["status"] in ("booked", "checked_in")
            and _day(stay["arrival"]) < end
            and start < _day(stay["departure"])
            for stay in self.db.stays.values()
        )

    def _require_free(self, room: str, stay: Any) -> None:
        start = max(stay["arrival"], TODAY)
        if not self.db.rooms[room]["in_order"] or not self._is_free(
            room, start, stay["departure"], without=stay["stay_id"]
        ):
            raise ValueError(f"Room {room} is not free until {stay['departure']}")

    def _nights_left(self, stay: Any) -> int:
        return (_day(stay["departure"]) - _day(max(stay["arrival"], TODAY))).days


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except (TypeError, ValueError):
        raise ValueError(f"Not a day in the form YYYY-MM-DD: {text}") from None
