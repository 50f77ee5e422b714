"""Makes the hotel domain's databases and tasks from a seed, and checks that every task can be solved.

``python tasks/tau2/make_hotel.py`` writes ``db.json``, ``user_db.json``, ``tasks.json`` and
``split_tasks.json`` into ``hotel/`` beside it. The texts and numbers are made up.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from simenvs.envs.tau2 import Entry, evaluate
from simenvs.envs.tau2.domain import Domain
from simenvs.envs.tau2.domains.hotel import SPEC
from simenvs.envs.tau2.domains.hotel.tools import BREAKFAST, LATE_CHECKOUT, TODAY
from simenvs.envs.tau2.evaluation import gold_errors, gold_world
from simenvs.envs.tau2.history import Call
from simenvs.seeding import Stream

FOLDER = Path(__file__).parent / "hotel"
SEED = 20260512
RATES = {"single": 90, "double": 130, "suite": 240}
FIRST = (
    "Amara Bo Chiara Dmitri Elif Farid Greta Hana Ivo Jun Kofi Lena Marta Nils Oksana Pavel Quinn Rosa"
    " Sami Tariq Uma Vera Wim Xenia Yusuf Zoe Aiko Bruno Celia Dario Emre Freya Gil Hedda Imran Jana"
    " Kai Leona Milo Nadia"
).split()
LAST = (
    "Abara Lindqvist Moretti Volkov Demir Haddad Brandt Sato Novak Park Mensah Fischer Oliveira Berg"
    " Kovalenko Dvorak Walsh Alvarez Nasser Aziz Rao Petrova Janssen Ilieva Kaya Marsh Tanaka Silva"
    " Navarro Conti Yilmaz Holm Barak Sorensen Sheikh Kowalska Nguyen Fuchs Hansen Rahal"
).split()
BROKEN = ("the shower drips", "the desk lamp is dead", "the blind is stuck", "the safe won't lock")
WISHES = ("a second pillow", "an iron", "a cot for the baby", "an extra blanket")
CLEANING = ("fresh towels", "the bed made", "the bin emptied", "more soap")
UNUSABLE = ("water is coming through the ceiling", "the power is gone", "it smells of smoke")

Task = dict[str, Any]
Maker = Callable[["Hotel", dict[str, Any], dict[str, Any], Stream], Task]


class Hotel:
    """The database as plain JSON, with what the makers of tasks ask of it."""

    def __init__(self, rng: Stream) -> None:
        self.rooms: dict[str, Any] = {}
        for floor in range(1, 6):
            for at in range(1, 13):
                kind = "suite" if at > 10 else "double" if at > 5 else "single"
                number = f"{floor}{at:02d}"
                self.rooms[number] = {
                    "number": number, "room_type": kind, "floor": floor, "rate": RATES[kind],
                    "in_order": rng.random() > 0.05,
                }  # fmt: skip
        self.guests: dict[str, Any] = {}
        self.stays: dict[str, Any] = {}
        numbers = [n for n, room in self.rooms.items() if room["in_order"]]
        today = date.fromisoformat(TODAY)
        for at, (first, last) in enumerate(zip(FIRST, LAST, strict=True)):
            guest_id, stay_id = f"G{101 + at}", f"S{101 + at}"
            status = "checked_in" if at < 30 else "booked" if at < 37 else "checked_out"
            arrival = today - timedelta(days=1 + rng.integers(4))
            nights = 4 + rng.integers(5)
            if status == "booked":
                arrival = today + timedelta(days=(1, 3, 1, 6, 9, 1, 4)[at - 30])
            elif status == "checked_out":
                arrival, nights = today - timedelta(days=6), 4
            room = numbers.pop(rng.integers(len(numbers)))
            self.guests[guest_id] = {
                "guest_id": guest_id, "first_name": first, "last_name": last,
                "email": f"{first}.{last}@example.com".lower(),
                "membership": ("none", "silver", "gold")[rng.index([5, 3, 2])],
                "stays": [stay_id],
            }  # fmt: skip
            self.stays[stay_id] = {
                "stay_id": stay_id, "guest_id": guest_id, "room": room,
                "arrival": arrival.isoformat(),
                "departure": (arrival + timedelta(days=nights)).isoformat(),
                "rate": self.rooms[room]["rate"], "status": status, "breakfast": rng.random() < 0.3,
            }  # fmt: skip

    def free(self, kind: str, stay: dict[str, Any]) -> str:
        """The free room of a type with the lowest number."""
        taken = {s["room"] for s in self.stays.values() if s["status"] != "checked_out"}
        rooms = (n for n, r in self.rooms.items() if r["room_type"] == kind and r["in_order"])
        return min(number for number in rooms if number not in taken)

    def to_dict(self) -> dict[str, Any]:
        """The database's file."""
        return {"guests": self.guests, "rooms": self.rooms, "stays": self.stays}


# -- parts of a task ------------------------------------------------------------------------------


def call(name: str, requestor: str = "assistant", **arguments: Any) -> dict[str, Any]:
    """A gold action."""
    return {"name": name, "arguments": arguments, "requestor": requestor}


def set_up(side: str, name: str, **arguments: Any) -> dict[str, Any]:
    """What happens before a task."""
    return {"env_type": side, "func_name": name, "arguments": arguments}


def task(
    stay: dict[str, Any],
    guest: dict[str, Any],
    reason: str,
    instructions: str,
    actions: list[dict[str, Any]],
    *,
    basis: tuple[str, ...] = ("DB", "COMMUNICATE"),
    start: tuple[dict[str, Any], ...] = (),
    asserted: tuple[dict[str, Any], ...] = (),
    said: tuple[str, ...] = (),
    unknown: str | None = None,
    purpose: str = "",
) -> Task:
    """A task in the official form, but for its id."""
    first, last = guest["first_name"], guest["last_name"]
    where = f"You are in room {stay['room']}." if stay["status"] == "checked_in" else ""
    known = f"You are {first} {last}. Your email is {guest['email']}. {where}".strip()
    look = call("find_guest_by_email", email=guest["email"])
    return {
        "description": {"purpose": purpose},
        "user_scenario": {
            "instructions": {
                "domain": "hotel",
                "reason_for_call": reason,
                "known_info": known,
                "unknown_info": unknown,
                "task_instructions": instructions,
            }
        },
        "ticket": f"{first} {last} ({guest['email']}) writes: {reason}",
        "initial_state": {
            "initialization_actions": [
                set_up("user", "set_app", stay_id=stay["stay_id"]),
                *start,
            ]
        },
        "evaluation_criteria": {
            "actions": [
                {"action_id": f"{name['name']}_{at}", **name}
                for at, name in enumerate([look, *actions])
            ],
            "env_assertions": [dict(one) for one in asserted] or None,
            "communicate_info": list(said),
            "reward_basis": list(basis),
        },
    }


def follow(wish: str) -> str:
    """What the guest is told to do."""
    return (
        f"{wish} Do on your phone and in your room what the front desk asks for, one thing at a time, and"
        " tell what you see. When it is settled, say thank you and end the conversation."
    )


DOOR = {"env_type": "user", "func_name": "assert_door_opens", "arguments": {}}
WARM = {"env_type": "user", "func_name": "assert_room_gets_warm", "arguments": {}}


def door(hotel: Hotel, stay: dict[str, Any], guest: dict[str, Any], rng: Stream) -> Task:
    """The door stays closed: signed out, Bluetooth off, an old key, a key that the lock refuses."""
    signed_out, bluetooth_off = rng.random() < 0.5, rng.random() < 0.5
    key = ("fine", "old", "refused")[rng.integers(3)]
    if not (signed_out or bluetooth_off):
        key = ("old", "refused")[rng.integers(2)]
    sid = stay["stay_id"]
    app: dict[str, Any] = {"signed_in": not signed_out, "bluetooth": not bluetooth_off}
    start = [set_up("user", "set_app", **app)]
    actions = [call("sign_in_app", "user")] if signed_out else []
    actions += [call("toggle_bluetooth", "user")] if bluetooth_off else []
    if key == "old":
        start.append(set_up("assistant", "issue_key_unnoticed", stay_id=sid))
    if key == "refused":
        # The app's key has a number that the hotel never issued, so that only a new one helps.
        start.append(set_up("user", "set_app", key_version=9))
        actions.append(call("issue_key", stay_id=sid))
    if key != "fine":
        actions.append(call("refresh_key", "user"))
    return task(
        stay, guest, "My phone doesn't open the door of my room.",
        follow("You want to get into your room with your phone."), actions,
        basis=("ENV_ASSERTION",), start=tuple(start), asserted=(DOOR,), purpose="digital key",
    )  # fmt: skip


def cold(hotel: Hotel, stay: dict[str, Any], guest: dict[str, Any], rng: Stream) -> Task:
    """The room is cold: window, power card, thermostat, frozen controls."""
    window, card, frozen = (rng.random() < 0.5 for _ in range(3))
    mode = ("eco", "off")[rng.integers(2)]
    sid = stay["stay_id"]
    start = [
        set_up("user", "set_room", window_open=window, card_inserted=not card, mode=mode, target=18)
    ]
    actions = [call("toggle_window", "user")] if window else []
    actions += [call("toggle_power_card", "user")] if card else []
    if frozen:
        start.append(set_up("assistant", "break_room_controls", stay_id=sid))
        actions.append(call("reset_room_controls", stay_id=sid))
    actions.append(call("set_thermostat", "user", mode="comfort", target=21))
    return task(
        stay, guest, "It is freezing in my room, the heating doesn't do anything.",
        follow("You want your room to get warm; 21 degrees would be nice."), actions,
        basis=("ENV_ASSERTION",), start=tuple(start), asserted=(WARM,), purpose="heating",
    )  # fmt: skip


def late(hotel: Hotel, stay: dict[str, Any], guest: dict[str, Any], rng: Stream) -> Task:
    """Late checkout at the price of the membership."""
    price = LATE_CHECKOUT[guest["membership"]]
    sid = stay["stay_id"]
    return task(
        stay, guest, "Could I keep my room until the afternoon on the day I leave?",
        follow(f"You take it for up to ${price or 10}; ask what it costs."),
        [
            call("send_offer", stay_id=sid, kind="late_checkout"),
            call("accept_offer", "user", offer_id="O1"),
        ],
        said=(f"${price}",) if price else (), purpose="offer: late checkout",
    )  # fmt: skip


def breakfast(hotel: Hotel, stay: dict[str, Any], guest: dict[str, Any], rng: Stream) -> Task:
    """Breakfast for the nights that are left, accepted or declined."""
    left = (date.fromisoformat(stay["departure"]) - date.fromisoformat(TODAY)).days
    price = BREAKFAST * left
    takes = rng.random() < 0.6
    wish = f"You take it if it costs at most ${price if takes else price - 10} in all"
    answer = call("accept_offer" if takes else "decline_offer", "user", offer_id="O1")
    return task(
        {**stay, "breakfast": False}, guest, "I'd like to have breakfast for the rest of my stay.",
        follow(f"{wish}, else decline the offer in the app."),
        [call("send_offer", stay_id=stay["stay_id"], kind="breakfast"), answer],
        said=(str(price),), purpose="offer: breakfast",
    )  # fmt: skip


def upgrade(hotel: Hotel, stay: dict[str, Any], guest: dict[str, Any], rng: Stream) -> Task:
    """A dearer room, and the new key."""
    kind = "suite" if hotel.rooms[stay["room"]]["room_type"] == "double" else "double"
    room = hotel.free(kind, stay)
    left = (date.fromisoformat(stay["departure"]) - date.fromisoformat(TODAY)).days
    price = left * (RATES[kind] - stay["rate"])
    return task(
        stay, guest, f"I'd like to move to a {kind}, if there is one.",
        follow(f"You accept if it costs at most ${price + 20} in all."),
        [
            call("list_free_rooms", room_type=kind, arrival=TODAY, departure=stay["departure"]),
            call("send_offer", stay_id=stay["stay_id"], kind="upgrade", room=room),
            call("accept_offer", "user", offer_id="O1"),
            call("refresh_key", "user"),
        ],
        basis=("DB", "COMMUNICATE", "ENV_ASSERTION"), asserted=(DOOR,), said=(str(price),),
        purpose="offer: upgrade",
    )  # fmt: skip


def dates(hotel: Hotel, stay: dict[str, Any], guest: dict[str, Any], rng: Stream) -> Task:
    """A longer or shorter stay."""
    change = (-1, 1, 2)[rng.integers(3)]
    old = date.fromisoformat(stay["departure"])
    new = old + timedelta(days=change)
    if new <= date.fromisoformat(TODAY):
        new = old + timedelta(days=1)
    nights = (new - date.fromisoformat(stay["arrival"])).days
    total = nights * stay["rate"]
    verb = "leave earlier" if new < old else "stay longer"
    return task(
        stay, guest, f"I'd like to {verb} and check out on {new:%A, %d %B}.",
        follow("Ask what all nights will cost together."),
        [call("change_departure", stay_id=stay["stay_id"], departure=new.isoformat())],
        said=(str(total),), purpose="dates",
    )  # fmt: skip


def minibar(hotel: Hotel, stay: dict[str, Any], guest: dict[str, Any], rng: Stream) -> Task:
    """A minibar charge that is wrong, right or too high to be waived."""
    case = ("full", "full", "taken", "high")[rng.integers(4)]
    amount = 52 if case == "high" else 12 + rng.integers(25)
    sid = stay["stay_id"]
    start = [set_up("assistant", "add_charge", stay_id=sid, item="minibar", amount=amount)]
    if case == "taken":
        start.append(set_up("user", "set_room", minibar=["mineral water", "chocolate"]))
    actions = [call("get_stay", stay_id=sid)]
    if case != "high":
        actions.append(call("check_minibar", "user"))
    if case == "full":
        actions.append(call("waive_charge", stay_id=sid, charge_id="C1", reason="not_consumed"))
    return task(
        stay, guest, f"There is a minibar charge of ${amount} on my bill, but I haven't taken anything.",
        follow("You want the charge off your bill. If it can't be done, accept that."), actions,
        basis=("DB",), start=tuple(start), purpose=f"charges: {case}",
    )  # fmt: skip


def service(hotel: Hotel, stay: dict[str, Any], guest: dict[str, Any], rng: Stream) -> Task:
    """A service that was charged but not delivered; a second waiver is against the policy."""
    amount = 15 + rng.integers(20)
    sid = stay["stay_id"]
    start = (
        set_up("assistant", "add_charge", stay_id=sid, item="laundry", amount=amount),
        set_up("assistant", "add_charge", stay_id=sid, item="parking", amount=24),
    )
    return task(
        stay, guest, f"I was charged ${amount} for laundry, but it never came back.",
        follow("You want the laundry off your bill. Afterwards ask for the parking to be waived, too,"
               " as a courtesy; accept a no."),
        [
            call("get_stay", stay_id=sid),
            call("waive_charge", stay_id=sid, charge_id="C1", reason="hotel_fault"),
        ],
        basis=("DB",), start=start, purpose="charges: one waiver",
    )  # fmt: skip


def wish(hotel: Hotel, stay: dict[str, Any], guest: dict[str, Any], rng: Stream) -> Task:
    """Something broken, cleaning or a wish, behind a do-not-disturb light or not."""
    kind = ("maintenance", "housekeeping", "amenity")[rng.integers(3)]
    what = rng.choice({"maintenance": BROKEN, "housekeeping": CLEANING, "amenity": WISHES}[kind])
    quiet = rng.random() < 0.5
    reason = f"In my room {what}." if kind == "maintenance" else f"Could I have {what}, please?"
    actions = [call("toggle_do_not_disturb", "user")] if quiet else []
    actions.append(call("create_request", stay_id=stay["stay_id"], kind=kind, note=what))
    return task(
        stay, guest, reason,
        follow("You want it today." + (" Your do-not-disturb light is on." if quiet else "")),
        actions, basis=("DB",), start=(set_up("user", "set_room", do_not_disturb=quiet),),
        purpose=f"request: {kind}",
    )  # fmt: skip


def unusable(hotel: Hotel, stay: dict[str, Any], guest: dict[str, Any], rng: Stream) -> Task:
    """A room that can't be used: a move at once, and a new key."""
    what = rng.choice(UNUSABLE)
    kind = hotel.rooms[stay["room"]]["room_type"]
    room = hotel.free(kind, stay)
    return task(
        stay, guest, f"Help, in my room {what}!",
        follow("You want to get out of this room."),
        [
            call("list_free_rooms", room_type=kind, arrival=TODAY, departure=stay["departure"]),
            call("move_room", stay_id=stay["stay_id"], room=room),
            call("refresh_key", "user"),
        ],
        basis=("DB", "COMMUNICATE", "ENV_ASSERTION"), asserted=(DOOR,), said=(room,),
        purpose="room that can't be used",
    )  # fmt: skip


def cancel(hotel: Hotel, stay: dict[str, Any], guest: dict[str, Any], rng: Stream) -> Task:
    """Cancelling a stay that has not begun, if that costs what the guest accepts."""
    notice = (date.fromisoformat(stay["arrival"]) - date.fromisoformat(TODAY)).days
    dear = notice < 2
    actions = [call("get_stay", stay_id=stay["stay_id"])]
    if not dear:
        actions.append(call("cancel_stay", stay_id=stay["stay_id"]))
    return task(
        stay, guest, "I have to cancel my stay with you.",
        follow("Cancel only if it is free of charge; if it costs anything, you rather keep the stay."),
        actions, said=(str(stay["rate"]),) if dear else (), purpose="cancellation",
    )  # fmt: skip


def forbidden(hotel: Hotel, stay: dict[str, Any], guest: dict[str, Any], rng: Stream) -> Task:
    """Something that the policy forbids: nothing may change."""
    reason, wish = (
        (
            "I'd like to move to another room, the view here is dull.",
            "You don't want to pay for it.",
        ),
        ("I was away last night. Please take that night off my bill.", "You find that only fair."),
        ("I want to break off my stay and have all nights back.", "You insist once, then accept."),
    )[rng.integers(3)]
    return task(
        stay, guest, reason, follow(f"{wish} If it can't be done, accept that."),
        [call("get_stay", stay_id=stay["stay_id"])], basis=("DB",), purpose="against the policy",
    )  # fmt: skip


MAKERS: tuple[tuple[Maker, int, int], ...] = (
    (door, 6, 2), (cold, 6, 2), (late, 2, 1), (breakfast, 2, 1), (upgrade, 2, 1), (dates, 3, 1),
    (minibar, 4, 2), (service, 1, 1), (wish, 4, 2), (unusable, 2, 1), (cancel, 2, 1), (forbidden, 2, 1),
)  # fmt: skip
"""Kinds of tasks, how many of each are for training, and how many for testing."""


def made(rng: Stream) -> tuple[Hotel, list[Task], dict[str, list[str]]]:
    """The database, the tasks, and the ids of each split."""
    hotel = Hotel(rng.child("hotel"))
    splits: dict[str, list[str]] = {"train": [], "test": [], "base": []}
    tasks: list[Task] = []
    seen: set[str] = set()
    for maker, train, test in MAKERS:
        stays = _fitting(hotel, maker, rng.child(maker.__name__))
        for at in range(train + test):
            for tries in range(100):
                stay = next(stays)
                guest = hotel.guests[stay["guest_id"]]
                one = maker(hotel, stay, guest, rng.child(maker.__name__, at, tries))
                start, actions = one["initial_state"], one["evaluation_criteria"]["actions"]
                # Two doors that fail alike would be one task told twice.
                key = json.dumps([one["description"], start["initialization_actions"][1:],
                                  [a["name"] for a in actions]]).replace(stay["stay_id"], "")  # fmt: skip
                if maker not in (door, cold, wish) or key not in seen:
                    break
            seen.add(key)
            name = f"{maker.__name__}_{at + 1}"
            tasks.append({"id": name, **one})
            splits["train" if at < train else "test"].append(name)
            splits["base"].append(name)
    return hotel, tasks, splits


def _fitting(hotel: Hotel, maker: Maker, rng: Stream) -> Iterator[dict[str, Any]]:
    """Stays for a kind of task, in random order, again and again."""
    wanted = "booked" if maker is cancel else "checked_in"
    stays = [s for s in hotel.stays.values() if s["status"] == wanted]
    if maker is breakfast:
        stays = [s for s in stays if not s["breakfast"]]
    if maker is upgrade:
        stays = [s for s in stays if hotel.rooms[s["room"]]["room_type"] != "suite"]
    while True:
        yield rng.choice(stays)


def check(domain: Domain) -> None:
    """Run every task's reference solution; it must work, score 1, and be needed."""
    for one in domain.tasks:
        errors = gold_errors(domain, one)
        assert not errors, (one.id, errors)
        assert one.criteria is not None
        messages = [Entry("assistant", " ".join(one.criteria.communicate_info or ()))]
        idle = evaluate(domain, one, (), "user_stop")
        for at, action in enumerate(one.criteria.actions or ()):
            made_call = Call(action.name, action.arguments, str(at), action.requestor)
            messages += [
                Entry(action.requestor, None, (made_call,)),
                Entry("tool", "", None, str(at)),
            ]
        info = evaluate(domain, one, messages, "user_stop")
        assert info.reward == 1, (one.id, info.breakdown)
        if domain.world(one).differences(gold_world(domain, one)):
            assert not idle.reward, f"{one.id} is solved by doing nothing"


def main() -> None:
    """Write and check."""
    hotel, tasks, splits = made(Stream(SEED))
    FOLDER.mkdir(exist_ok=True)
    for name, value in (
        ("db", hotel.to_dict()), ("user_db", {}), ("tasks", tasks), ("split_tasks", splits)
    ):  # fmt: skip
        text = json.dumps(value, indent=1, ensure_ascii=False)
        (FOLDER / f"{name}.json").write_text(f"{text}\n", "utf-8")
    check(Domain("hotel", SPEC, FOLDER))
    print(
        f"{FOLDER}: {len(tasks)} tasks ({len(splits['train'])} train, {len(splits['test'])} test)"
    )


if __name__ == "__main__":
    main()
