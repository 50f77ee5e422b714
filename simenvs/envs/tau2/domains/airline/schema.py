"""The form of the airline domain's database (official ``domains/airline/db.json``)."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

FlightType = Literal["round_trip", "one_way"]
CabinClass = Literal["business", "economy", "basic_economy"]
Insurance = Literal["yes", "no"]


class Name(BaseModel):
    """Of a person."""

    first_name: str
    last_name: str


class Address(BaseModel):
    """Of a user."""

    address1: str
    address2: str | None = None
    city: str
    country: str
    state: str
    zip: str


class Payment(BaseModel):
    """Part of what was paid, in dollars; refunds are negative."""

    payment_id: str
    amount: int


class PaymentMethodBase(BaseModel):
    """What all payment methods have."""

    source: str
    id: str


class CreditCard(PaymentMethodBase):
    """A card without a limit."""

    source: Literal["credit_card"]
    brand: str
    last_four: str


class GiftCard(PaymentMethodBase):
    """A balance in dollars."""

    source: Literal["gift_card"]
    amount: float


class Certificate(PaymentMethodBase):
    """Dollars that are used up by one booking."""

    source: Literal["certificate"]
    amount: float


class Passenger(BaseModel):
    """Who flies."""

    first_name: str
    last_name: str
    dob: str


class FlightDateStatusAvailable(BaseModel):
    """A day on which seats can be booked."""

    status: Literal["available"]
    available_seats: dict[CabinClass, int]
    prices: dict[CabinClass, int]


class FlightDateStatusLanded(BaseModel):
    """A day on which the flight has arrived."""

    status: Literal["landed"]
    actual_departure_time_est: str
    actual_arrival_time_est: str


class FlightDateStatusCancelled(BaseModel):
    """A day on which it doesn't fly."""

    status: Literal["cancelled"]


class FlightDateStatusDelayed(BaseModel):
    """A day on which it is late."""

    status: Literal["delayed"]
    estimated_departure_time_est: str
    estimated_arrival_time_est: str


class FlightDataStatusFlying(BaseModel):
    """A day on which it is in the air."""

    status: Literal["flying"]
    actual_departure_time_est: str
    estimated_arrival_time_est: str


class FlightDataStatusOnTime(BaseModel):
    """A day on which it is about to leave."""

    status: Literal["on time"]
    estimated_departure_time_est: str
    estimated_arrival_time_est: str


FlightDateStatus = (
    FlightDateStatusAvailable
    | FlightDateStatusLanded
    | FlightDateStatusCancelled
    | FlightDateStatusDelayed
    | FlightDataStatusFlying
    | FlightDataStatusOnTime
)


class FlightBase(BaseModel):
    """What all forms of a flight have."""

    flight_number: str
    origin: str
    destination: str


class Flight(FlightBase):
    """A flight with its days."""

    scheduled_departure_time_est: str
    scheduled_arrival_time_est: str
    dates: dict[str, FlightDateStatus]


class ReservationFlight(FlightBase):
    """A flight of a reservation."""

    date: str
    price: int


class FlightInfo(BaseModel):
    """A flight on a day."""

    flight_number: str
    date: str


class User(BaseModel):
    """A customer."""

    user_id: str
    name: Name
    address: Address
    email: str
    dob: str
    payment_methods: dict[str, CreditCard | GiftCard | Certificate]
    saved_passengers: list[Passenger]
    membership: Literal["gold", "silver", "regular"]
    reservations: list[str]


class Reservation(BaseModel):
    """A booking."""

    reservation_id: str
    user_id: str
    origin: str
    destination: str
    flight_type: FlightType
    cabin: CabinClass
    flights: list[ReservationFlight]
    passengers: list[Passenger]
    payment_history: list[Payment]
    created_at: str
    total_baggages: int
    nonfree_baggages: int
    insurance: Insurance
    status: Literal["cancelled"] | None = None


class FlightDB(BaseModel):
    """The assistant's database."""

    model_config = ConfigDict(extra="forbid")

    flights: dict[str, Flight]
    users: dict[str, User]
    reservations: dict[str, Reservation]
