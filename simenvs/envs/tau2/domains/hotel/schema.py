"""The form of the hotel domain's databases."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

RoomType = Literal["single", "double", "suite"]
OfferKind = Literal["late_checkout", "breakfast", "upgrade"]
RequestKind = Literal["housekeeping", "maintenance", "amenity"]
WaiverReason = Literal["not_consumed", "hotel_fault"]
ThermostatMode = Literal["off", "eco", "comfort"]


class Strict(BaseModel):
    """A model without other fields than its own."""

    model_config = ConfigDict(extra="forbid")


class Guest(Strict):
    """A guest."""

    guest_id: str
    first_name: str
    last_name: str
    email: str
    membership: Literal["none", "silver", "gold"]
    stays: list[str]


class Room(Strict):
    """A room; ``rate`` in dollars per night."""

    number: str
    room_type: RoomType
    floor: int
    rate: int
    in_order: bool = True


class Charge(Strict):
    """An entry of the bill, in dollars."""

    charge_id: str
    item: str
    amount: int
    waived: WaiverReason | None = None


class Stay(Strict):
    """A stay; ``key_version`` counts the keys that were issued for it."""

    stay_id: str
    guest_id: str
    room: str
    arrival: str
    departure: str
    rate: int
    status: Literal["booked", "checked_in", "checked_out", "cancelled"]
    breakfast: bool = False
    late_checkout: bool = False
    key_version: int = 1
    controls_work: bool = True
    charges: list[Charge] = []


class Offer(Strict):
    """What a guest may accept in the app; ``amount`` in dollars."""

    offer_id: str
    stay_id: str
    kind: OfferKind
    amount: int
    room: str | None = None
    status: Literal["sent", "accepted", "declined"] = "sent"


class Request(Strict):
    """Work for the staff."""

    request_id: str
    stay_id: str
    kind: RequestKind


class HotelDB(Strict):
    """The front desk's database."""

    guests: dict[str, Guest]
    rooms: dict[str, Room]
    stays: dict[str, Stay]
    offers: dict[str, Offer] = {}
    requests: dict[str, Request] = {}


class App(Strict):
    """The guest's app: the stay that it is for, and what it needs to open the door."""

    stay_id: str | None = None
    signed_in: bool = True
    bluetooth: bool = True
    key_version: int = 1
    answers: dict[str, Literal["accepted", "declined"]] = {}


class RoomPanel(Strict):
    """What the guest finds in the room; ``target`` in °C."""

    card_inserted: bool = True
    window_open: bool = False
    mode: ThermostatMode = "comfort"
    target: int = 21
    minibar: list[str] = []
    do_not_disturb: bool = False


class Desk(Strict):
    """What the hotel has told the app and the room."""

    key_version: int = 1
    checked_in: bool = True
    controls_work: bool = True
    offers: dict[str, str] = {}


class GuestDB(Strict):
    """The guest's database."""

    app: App = App()
    room: RoomPanel = RoomPanel()
    desk: Desk = Desk()
