"""Tools of the airline domain (official interface: ``domains/airline/tools.py``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, Field

from simenvs.envs.tau2.calculator import calculate
from simenvs.envs.tau2.domains.airline.schema import (
    CabinClass,
    Certificate,
    FlightInfo,
    FlightType,
    Insurance,
    Passenger,
    Payment,
    Reservation,
    ReservationFlight,
)
from simenvs.envs.tau2.toolkit import Toolkit, tool

M = TypeVar("M", bound=BaseModel)

NOW = "2024-05-15T15:00:00"
NEW_RESERVATIONS = ("HATHAT", "HATHAU", "HATHAV")
NEW_CERTIFICATES = ("certificate_3221322", "certificate_3221323", "certificate_3221324")
AIRPORTS = (
    ("SFO", "San Francisco"),
    ("JFK", "New York"),
    ("LAX", "Los Angeles"),
    ("ORD", "Chicago"),
    ("DFW", "Dallas"),
    ("DEN", "Denver"),
    ("SEA", "Seattle"),
    ("ATL", "Atlanta"),
    ("MIA", "Miami"),
    ("BOS", "Boston"),
    ("PHX", "Phoenix"),
    ("IAH", "Houston"),
    ("LAS", "Las Vegas"),
    ("MCO", "Orlando"),
    ("EWR", "Newark"),
    ("CLT", "Charlotte"),
    ("MSP", "Minneapolis"),
    ("DTW", "Detroit"),
    ("PHL", "Philadelphia"),
    ("LGA", "LaGuardia"),
)

ReservationId = Annotated[str, Field(description="id of the reservation, such as '8JX2WO'")]
UserId = Annotated[str, Field(description="id of the user, such as 'sara_doe_496'")]
Airport = Annotated[str, Field(description="IATA code of the airport, such as 'JFK'")]
Day = Annotated[str, Field(description="day of departure, YYYY-MM-DD")]
PaymentId = Annotated[
    str, Field(description="id of a payment method of the user, such as 'gift_card_7815826'")
]


class AirlineTools(Toolkit):
    """The assistant's tools."""

    @tool("write")
    def book_reservation(
        self,
        user_id: UserId,
        origin: Airport,
        destination: Airport,
        flight_type: FlightType,
        cabin: CabinClass,
        flights: Annotated[
            list[FlightInfo | dict], Field(description="every flight of the journey, in order")  # type: ignore[type-arg]
        ],
        passengers: Annotated[
            list[Passenger | dict], Field(description="everybody who flies")  # type: ignore[type-arg]
        ],
        payment_methods: Annotated[
            list[Payment | dict],  # type: ignore[type-arg]
            Field(description="what is paid by which payment method; adds up to the price"),
        ],
        total_baggages: Annotated[int, Field(description="checked bags in all")],
        nonfree_baggages: Annotated[int, Field(description="checked bags that are paid for")],
        insurance: Annotated[Insurance, Field(description="whether travel insurance is bought")],
    ) -> Any:
        """Book a journey; gives the reservation."""
        flights = _models(FlightInfo, flights)
        passengers = _models(Passenger, passengers)
        payment_methods = _models(Payment, payment_methods)
        self._user(user_id)
        reservation_id = self._new_reservation_id()
        reservation = Reservation(
            reservation_id=reservation_id,
            user_id=user_id,
            origin=origin,
            destination=destination,
            flight_type=flight_type,
            cabin=cabin,
            flights=[],
            passengers=passengers,  # type: ignore[arg-type]
            payment_history=payment_methods,  # type: ignore[arg-type]
            created_at=NOW,
            total_baggages=total_baggages,
            nonfree_baggages=nonfree_baggages,
            insurance=insurance,
        )
        total_price = 0
        for info in flights:
            flight, day = self._bookable(info, cabin, len(passengers))
            reservation.flights.append(_booked(flight, info, day["prices"][cabin]))
            total_price += day["prices"][cabin] * len(passengers)
        if insurance == "yes":
            total_price += 30 * len(passengers)
        total_price += 50 * nonfree_baggages
        self._pay(user_id, payment_methods, total_price)
        for info in flights:
            flight = self.db.flights.edit(info.flight_number)  # type: ignore[union-attr]
            flight["dates"][info.date]["available_seats"][cabin] -= len(passengers)  # type: ignore[union-attr]
        self.db.reservations[reservation_id] = record = reservation.model_dump()
        self.db.users.edit(user_id)["reservations"].append(reservation_id)
        return record

    @tool("generic")
    def calculate(
        self, expression: Annotated[str, Field(description="such as '2 * (19.99 + 5)'")]
    ) -> str:
        """Compute an expression of numbers, + - * / and parentheses."""
        return calculate(expression)

    @tool("write")
    def cancel_reservation(self, reservation_id: ReservationId) -> Any:
        """Cancel a whole reservation and refund what was paid; gives the reservation."""
        self._reservation(reservation_id)
        reservation = self.db.reservations.edit(reservation_id)
        history = reservation["payment_history"]
        history += [{**payment, "amount": -payment["amount"]} for payment in history]
        reservation["status"] = "cancelled"
        return reservation

    @tool("read")
    def get_reservation_details(self, reservation_id: ReservationId) -> Any:
        """Give a reservation."""
        return self._reservation(reservation_id)

    @tool("read")
    def get_user_details(self, user_id: UserId) -> Any:
        """Give a user's profile: payment methods, saved passengers, membership, reservations."""
        return self._user(user_id)

    @tool("read")
    def list_all_airports(self) -> Any:
        """List all airports with their cities."""
        return [{"iata": iata, "city": city} for iata, city in AIRPORTS]

    @tool("read")
    def search_direct_flight(self, origin: Airport, destination: Airport, date: Day) -> Any:
        """List the direct flights from one airport to another that can be booked for a day."""
        return self._direct(date, origin, destination)

    @tool("read")
    def search_onestop_flight(self, origin: Airport, destination: Airport, date: Day) -> Any:
        """List the pairs of flights with one stop that can be booked for a day."""
        found = []
        for first in self._direct(date, origin):
            first["date"] = second_date = date
            arrival = first["scheduled_arrival_time_est"]
            if "+1" in arrival:
                second_date = f"2024-05-{int(date[-2:]) + 1}"
            for second in self._direct(second_date, first["destination"], destination, arrival):
                second["date"] = second_date
                found.append([first, second])
        return found

    @tool("write")
    def send_certificate(
        self, user_id: UserId, amount: Annotated[int, Field(description="dollars")]
    ) -> str:
        """Give a user a certificate. It can't be taken back."""
        user = self._user(user_id)
        for certificate_id in NEW_CERTIFICATES:
            if certificate_id not in user["payment_methods"]:
                certificate = Certificate(id=certificate_id, amount=amount, source="certificate")
                methods = self.db.users.edit(user_id)["payment_methods"]
                methods[certificate_id] = certificate.model_dump()
                return f"Certificate {certificate_id} added to user {user_id} with amount {amount}."
        raise ValueError("Too many certificates")

    @tool("generic")
    def transfer_to_human_agents(self, summary: str) -> str:
        """Hand the user over to a human, with a summary of what they need.

        Only if the user asks for a human, or if neither policy nor tools allow a solution.
        """
        return "Transfer successful"

    @tool("write")
    def update_reservation_baggages(
        self,
        reservation_id: ReservationId,
        total_baggages: Annotated[int, Field(description="checked bags in all, afterwards")],
        nonfree_baggages: Annotated[
            int, Field(description="checked bags that are paid for, afterwards")
        ],
        payment_id: PaymentId,
    ) -> Any:
        """Change the bags of a reservation; gives the reservation."""
        before = self._reservation(reservation_id)
        price = 50 * max(0, nonfree_baggages - before["nonfree_baggages"])
        payment = self._settle(before["user_id"], payment_id, price)
        reservation = self.db.reservations.edit(reservation_id)
        reservation["payment_history"] += payment
        reservation["total_baggages"] = total_baggages
        reservation["nonfree_baggages"] = nonfree_baggages
        return reservation

    @tool("write")
    def update_reservation_flights(
        self,
        reservation_id: ReservationId,
        cabin: CabinClass,
        flights: Annotated[
            list[FlightInfo | dict],  # type: ignore[type-arg]
            Field(description="every flight of the changed journey, unchanged ones included"),
        ],
        payment_id: PaymentId,
    ) -> Any:
        """Change flights or cabin of a reservation; gives the reservation."""
        flights = _models(FlightInfo, flights)
        before = self._reservation(reservation_id)
        self._user(before["user_id"])
        travellers = len(before["passengers"])
        price, kept = 0, []
        for info in flights:
            same = next((f for f in before["flights"] if _is_kept(f, info, cabin, before)), None)
            if same is None:
                flight, day = self._bookable(info, cabin, travellers)
                same = _booked(flight, info, day["prices"][cabin]).model_dump()
            price += same["price"] * travellers
            kept.append(dict(same))
        price -= sum(flight["price"] for flight in before["flights"]) * travellers
        payment = self._settle(before["user_id"], payment_id, price)
        reservation = self.db.reservations.edit(reservation_id)
        reservation["payment_history"] += payment
        reservation["flights"] = kept
        reservation["cabin"] = cabin
        return reservation

    @tool("write")
    def update_reservation_passengers(
        self,
        reservation_id: ReservationId,
        passengers: Annotated[
            list[Passenger | dict], Field(description="everybody who flies, afterwards")  # type: ignore[type-arg]
        ],
    ) -> Any:
        """Change the passengers' data; their number stays. Gives the reservation."""
        passengers = _models(Passenger, passengers)
        before = self._reservation(reservation_id)
        if len(passengers) != len(before["passengers"]):
            raise ValueError("Number of passengers does not match")
        reservation = self.db.reservations.edit(reservation_id)
        reservation["passengers"] = _plain(passengers)
        return reservation

    @tool("read")
    def get_flight_status(
        self, flight_number: Annotated[str, Field(description="such as 'HAT001'")], date: Day
    ) -> str:
        """Give the status of a flight on a day."""
        status: str = self._day(flight_number, date)["status"]
        return status

    # -- lookups --------------------------------------------------------------------------------

    def _user(self, user_id: str) -> Any:
        if user_id not in self.db.users:
            raise ValueError(f"User {user_id} not found")
        return self.db.users[user_id]

    def _reservation(self, reservation_id: str) -> Any:
        if reservation_id not in self.db.reservations:
            raise ValueError(f"Reservation {reservation_id} not found")
        return self.db.reservations[reservation_id]

    def _flight(self, flight_number: str) -> Any:
        if flight_number not in self.db.flights:
            raise ValueError(f"Flight {flight_number} not found")
        return self.db.flights[flight_number]

    def _day(self, flight_number: str, date: str) -> Any:
        flight = self._flight(flight_number)
        if date not in flight["dates"]:
            raise ValueError(f"Flight {flight_number} not found on date {date}")
        return flight["dates"][date]

    def _new_reservation_id(self) -> str:
        for reservation_id in NEW_RESERVATIONS:
            if reservation_id not in self.db.reservations:
                return reservation_id
        raise ValueError("Too many reservations")

    # -- flights --------------------------------------------------------------------------------

    def _bookable(self, info: Any, cabin: str, seats: int) -> tuple[Any, Any]:
        """The flight and its day, if that many seats are free."""
        flight = self._flight(info.flight_number)
        day = self._day(info.flight_number, info.date)
        if day["status"] != "available":
            raise ValueError(f"Flight {info.flight_number} not available on date {info.date}")
        if day["available_seats"][cabin] < seats:
            raise ValueError(f"Not enough seats on flight {info.flight_number}")
        return flight, day

    def _direct(
        self,
        date: str,
        origin: str | None,
        destination: str | None = None,
        after: str | None = None,
    ) -> list[dict[str, Any]]:
        flights = self.db.flights
        routes = flights.base.grouped("origin", lambda flight: flight["origin"])
        found = []
        keys: Any = flights if origin is None else ()
        for key in routes.get(origin, ()) if isinstance(origin, str) else keys:
            flight = flights[key]
            if destination is not None and flight["destination"] != destination:
                continue
            day = flight["dates"].get(date)
            if day is None or day["status"] != "available":
                continue
            if after is not None and flight["scheduled_departure_time_est"] < after:
                continue
            found.append(
                {
                    "flight_number": flight["flight_number"],
                    "origin": flight["origin"],
                    "destination": flight["destination"],
                    "status": "available",
                    "scheduled_departure_time_est": flight["scheduled_departure_time_est"],
                    "scheduled_arrival_time_est": flight["scheduled_arrival_time_est"],
                    "date": None,
                    "available_seats": day["available_seats"],
                    "prices": day["prices"],
                }
            )
        return found

    # -- money ----------------------------------------------------------------------------------

    def _pay(self, user_id: str, payments: Any, price: int) -> None:
        """Take a booking's price from the payment methods."""
        methods = self.db.users[user_id]["payment_methods"]
        for payment in payments:
            if payment.payment_id not in methods:
                raise ValueError(f"Payment method {payment.payment_id} not found")
            method = methods[payment.payment_id]
            limited = method["source"] in ("gift_card", "certificate")
            if limited and method["amount"] < payment.amount:
                raise ValueError(f"Not enough balance in payment method {payment.payment_id}")
        paid = sum(payment.amount for payment in payments)
        if paid != price:
            raise ValueError(
                f"Payment amount does not add up, total price is {price}, but paid {paid}"
            )
        methods = self.db.users.edit(user_id)["payment_methods"]
        for payment in payments:
            method = methods[payment.payment_id]
            if method["source"] == "gift_card":
                method["amount"] -= payment.amount
            elif method["source"] == "certificate":
                del methods[payment.payment_id]

    def _settle(self, user_id: str, payment_id: str, price: Any) -> list[dict[str, Any]]:
        """Take the price of a change; gives its entry in the payment history, none if it is 0."""
        methods = self._user(user_id)["payment_methods"]
        if payment_id not in methods:
            raise ValueError("Payment method not found")
        source = methods[payment_id]["source"]
        if source == "certificate":
            raise ValueError("Certificate cannot be used to update reservation")
        if source == "gift_card":
            if methods[payment_id]["amount"] < price:
                raise ValueError("Gift card balance is not enough")
            self.db.users.edit(user_id)["payment_methods"][payment_id]["amount"] -= price
        if price == 0:
            return []
        return [Payment(payment_id=payment_id, amount=price).model_dump()]


def _models(model: type[M], values: Any) -> Any:
    """The values as models if all are dicts, else as they are."""
    if all(isinstance(value, dict) for value in values):
        return [model(**value) for value in values]
    return values


def _plain(values: Any) -> Any:
    """Models as dicts; everything else as it is."""
    if not isinstance(values, list):
        return values
    return [value.model_dump() if isinstance(value, BaseModel) else value for value in values]


def _booked(flight: Mapping[str, Any], info: Any, price: int) -> ReservationFlight:
    return ReservationFlight(
        flight_number=info.flight_number,
        date=info.date,
        price=price,
        origin=flight["origin"],
        destination=flight["destination"],
    )


def _is_kept(flight: Mapping[str, Any], info: Any, cabin: str, before: Mapping[str, Any]) -> bool:
    """Whether a flight of the reservation stays as it is, at the price that was paid."""
    return bool(
        flight["flight_number"] == info.flight_number
        and flight["date"] == info.date
        and cabin == before["cabin"]
    )
