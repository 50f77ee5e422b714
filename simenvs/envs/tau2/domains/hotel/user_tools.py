"""The guest's tools: the hotel's app, and what can be done in the room."""

from __future__ import annotations

from typing import Annotated, Any, cast

from pydantic import Field

from simenvs.envs.tau2.domains.hotel.schema import ThermostatMode
from simenvs.envs.tau2.domains.hotel.tools import HotelTools
from simenvs.envs.tau2.toolkit import Toolkit, tool

OfferId = Annotated[str, Field(description="as the app shows it, such as 'O1'")]
WARM = 20
"""Lowest thermostat setting, in °C, at which a room gets warm."""


class GuestTools(Toolkit):
    """The guest's tools."""

    # -- the app --------------------------------------------------------------------------------

    @tool("read")
    def check_app(self) -> str:
        """Look at the hotel's app: sign-in, Bluetooth, key, offers."""
        app, offers = self.app, self.desk["offers"]
        if not app["signed_in"]:
            return "The app is signed out. Sign in to see your stay."
        lines = [
            f"Stay: {app['stay_id']}",
            f"Bluetooth: {'on' if app['bluetooth'] else 'off'}",
            f"Digital key: number {app['key_version']}",
            f"Offers: {', '.join(f'{i} ({text})' for i, text in offers.items()) or 'none'}",
        ]
        return "\n".join(lines)

    @tool("write")
    def sign_in_app(self) -> str:
        """Sign in to the hotel's app."""
        if self.app["signed_in"]:
            return "You are signed in already."
        self.db.app.edit(0)["signed_in"] = True
        return "You are signed in now."

    @tool("write")
    def toggle_bluetooth(self) -> str:
        """Switch your phone's Bluetooth on or off; the digital key needs it."""
        app = self.db.app.edit(0)
        app["bluetooth"] = not app["bluetooth"]
        return f"Bluetooth is now {'on' if app['bluetooth'] else 'off'}."

    @tool("write")
    def refresh_key(self) -> str:
        """Let the app load the newest digital key."""
        self._require_app()
        self.db.app.edit(0)["key_version"] = self.desk["key_version"]
        return f"The app has key number {self.desk['key_version']}."

    @tool("read")
    def try_door(self) -> str:
        """Hold your phone to the door of your room."""
        why = self._why_closed()
        return f"The door stays closed. {why}" if why else "The lock turns green. The door opens."

    @tool("write")
    def accept_offer(self, offer_id: OfferId) -> str:
        """Accept an offer in the app; what it costs goes on your bill."""
        self._answer(offer_id, "accepted")
        return f"Offer {offer_id} accepted."

    @tool("write")
    def decline_offer(self, offer_id: OfferId) -> str:
        """Decline an offer in the app."""
        self._answer(offer_id, "declined")
        return f"Offer {offer_id} declined."

    # -- the room -------------------------------------------------------------------------------

    @tool("read")
    def check_thermostat(self) -> str:
        """Look at the thermostat, the window and the power slot by the door."""
        room = self.room
        lines = [
            f"Thermostat: {room['mode']}, {room['target']} °C",
            f"Window: {'open' if room['window_open'] else 'closed'}",
            f"Key card in the power slot: {'yes' if room['card_inserted'] else 'no'}",
        ]
        if not self.desk["controls_work"]:
            lines[0] = "Thermostat: the display is frozen"
        return "\n".join(lines)

    @tool("write")
    def set_thermostat(
        self,
        mode: ThermostatMode,
        target: Annotated[int, Field(description="°C, from 16 to 26")] = 21,
    ) -> str:
        """Set the thermostat; eco saves energy while nobody is in."""
        if not self.desk["controls_work"]:
            return "The thermostat doesn't react; its display is frozen."
        if mode not in ("off", "eco", "comfort"):
            raise ValueError(f"Unknown mode: {mode}")
        if not 16 <= target <= 26:
            raise ValueError("The thermostat goes from 16 to 26 °C")
        self.db.room.edit(0).update(mode=mode, target=target)
        return f"Thermostat: {mode}, {target} °C."

    @tool("write")
    def toggle_window(self) -> str:
        """Open or close the window; heating is off while it is open."""
        room = self.db.room.edit(0)
        room["window_open"] = not room["window_open"]
        return f"The window is now {'open' if room['window_open'] else 'closed'}."

    @tool("write")
    def toggle_power_card(self) -> str:
        """Put the key card into the power slot by the door, or take it out."""
        room = self.db.room.edit(0)
        room["card_inserted"] = not room["card_inserted"]
        return f"The card is {'in' if room['card_inserted'] else 'out of'} the slot now."

    @tool("read")
    def check_minibar(self) -> str:
        """Look at what is missing from the minibar."""
        taken = self.room["minibar"]
        return f"Missing from the minibar: {', '.join(taken)}." if taken else "The minibar is full."

    @tool("write")
    def toggle_do_not_disturb(self) -> str:
        """Switch the do-not-disturb light on or off; staff don't come in while it is on."""
        room = self.db.room.edit(0)
        room["do_not_disturb"] = not room["do_not_disturb"]
        return f"The do-not-disturb light is {'on' if room['do_not_disturb'] else 'off'}."

    # -- what a task starts with ----------------------------------------------------------------

    def set_app(self, **fields: Any) -> None:
        """Set fields of the app."""
        self.db.app.edit(0).update(fields)

    def set_room(self, **fields: Any) -> None:
        """Set fields of the room."""
        self.db.room.edit(0).update(fields)

    # -- what a task asserts --------------------------------------------------------------------

    def assert_door_opens(self) -> bool:
        """Whether the phone opens the door."""
        return not self._why_closed()

    def assert_room_gets_warm(self) -> bool:
        """Whether the room is heated."""
        room = self.room
        return bool(
            self.desk["controls_work"]
            and room["card_inserted"]
            and not room["window_open"]
            and room["mode"] == "comfort"
            and room["target"] >= WARM
        )

    def assert_room(self, field: str, expected: Any) -> bool:
        """Whether a field of the room has this value."""
        return bool(self.room[field] == expected)

    # -- state ----------------------------------------------------------------------------------

    @property
    def app(self) -> Any:
        """The app, to read only."""
        return self.db.app[0]

    @property
    def room(self) -> Any:
        """The room, to read only."""
        return self.db.room[0]

    @property
    def desk(self) -> Any:
        """What the hotel has told, to read only."""
        return self.db.desk[0]

    def _require_app(self) -> None:
        if not self.app["signed_in"]:
            raise ValueError("The app is signed out")

    def _answer(self, offer_id: str, answer: str) -> None:
        self._require_app()
        if offer_id not in self.desk["offers"]:
            raise ValueError(f"There is no offer {offer_id} in the app")
        self.db.app.edit(0)["answers"][offer_id] = answer

    def _why_closed(self) -> str:
        app, desk = self.app, self.desk
        if not app["signed_in"]:
            return "The app asks you to sign in."
        if not app["bluetooth"]:
            return "The app says that Bluetooth is off."
        if app["key_version"] != desk["key_version"] or not desk["checked_in"]:
            return "The lock blinks red: this key is not valid."
        return ""


def sync(tools: Toolkit, user_tools: Toolkit | None) -> None:
    """Tell the hotel what the guest has accepted, and the guest's side what the hotel has done."""
    hotel, guest = cast(HotelTools, tools), cast(GuestTools, user_tools)
    stay_id = guest.app["stay_id"]
    if stay_id is None:
        return
    for offer_id, answer in guest.app["answers"].items():
        hotel.answer_offer(offer_id, answer)
    stay = hotel.get_stay(stay_id)
    told = {
        "key_version": stay["key_version"],
        "checked_in": stay["status"] == "checked_in",
        "controls_work": stay["controls_work"],
        "offers": hotel.open_offers(stay_id),
    }
    if told != guest.desk:
        guest.db.desk[0] = told
