"""A policy with tools: a front desk that mends digital keys, with guests of several tempers."""

import json
import re

import simenvs
from simenvs import Message
from simenvs.envs.tau2 import load_domain
from simenvs.seeding import Stream
from simenvs.types import Observation, ToolCall


class FrontDesk:
    """Finds the guest, lets them go through the app, and issues a new key if that doesn't help."""

    async def act(self, observation: Observation, *, rng: Stream) -> Message:
        """The next step, from what has been said and done so far."""
        view = observation["messages"]
        heard = [m["content"] for m in view if m["role"] == "user"]
        results = [m for m in view if m["role"] == "tool"]
        asked = [m["content"] for m in view if m["role"] == "assistant"]
        if not results:
            email = re.search(r"\S+@\S+\w", " ".join(heard))
            if email is None:
                return Message(content="May I have your email, please?")
            return Message(tool_calls=(ToolCall("find_guest_by_email", {"email": email[0]}),))
        said = heard[-1]
        if "opens" in said:
            return Message(content="Wonderful. Is there anything else I can do for you?")
        if "signed out" in said or "sign in" in said:
            return Message(content="Please sign in: `sign_in_app()`.")
        if "Bluetooth: off" in said or "Bluetooth is off" in said:
            return Message(content="Please switch it on: `toggle_bluetooth()`.")
        if "not valid" in said:
            if not any("refresh_key" in text for text in asked):
                return Message(content="Please load the newest key: `refresh_key()`.")
            if len(results) == 1:
                stay = json.loads(results[0]["content"])["stays"][0]
                return Message(tool_calls=(ToolCall("issue_key", {"stay_id": stay}),))
            return Message(content="You have a new key. Please load it: `refresh_key()`.")
        return Message(content="Please try the door: `try_door()`.")


options = {"split": "base", "gamma": 1.0}  # guests as they are, not as a collapsed model plays them
tasks = [task.id for task in load_domain("hotel").tasks if task.id.startswith("door")]
for backend in ("Single", "VS", "Population"):
    env_id = f"Tau2Hotel-{backend}-v0"
    episodes = [
        episode
        for task in tasks
        for episode in simenvs.collect(
            env_id, {"assistant": FrontDesk()}, range(10), task=task, env_options=options
        )
    ]
    solved = sum(episode.rewards["assistant"] == 1 for episode in episodes)
    steps = sum(episode.outcome["steps"] for episode in episodes) / len(episodes)
    print(f"{env_id}: {solved} of {len(episodes)} doors opened, {steps:.1f} steps on average")
