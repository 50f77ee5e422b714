"""``simenvs play``: a person in a seat, in the terminal."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from simenvs.cli.common import Commands, add_command, add_options, console, options_of
from simenvs.errors import InvalidInputError


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "play",
        run,
        help="chat in an environment yourself",
        description="Chat in an environment yourself. The other seat is played by what the id names; "
        "in the user seat you meet a scripted policy.",
        example="simenvs play Persuasion-Single-v0 --seat user",
    )
    parser.add_argument("id", help="an environment id, see: simenvs list")
    parser.add_argument(
        "--seat", choices=("policy", "user"), default="policy", help="where you sit (policy)"
    )
    parser.add_argument("--seed", type=int, default=None, help="play the same user and task again")
    add_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Play one episode."""
    from simenvs.playthrough import Playthrough
    from simenvs.registration import make_env, make_simulator
    from simenvs.running import run, run_inline
    from simenvs.simulators.human import InputEnded, TerminalHuman, printable

    options = options_of(arguments)
    env = make_env(arguments.id, **options)
    if arguments.seat == "user":
        others = [seat for seat in env.seats if seat != env.policy_seat]
        if not others:
            raise InvalidInputError(f"there is no user in {arguments.id} with these options")
        options["policy_seat"] = others[0]
        env = make_env(arguments.id, **options)
    out = console()
    human = TerminalHuman(env.policy_seat, out)
    players: dict[str, Any] = {**make_simulator(arguments.id, **options), env.policy_seat: human}
    play = Playthrough(env, players, seed=arguments.seed, env_id=arguments.id)
    try:
        (run if play.waits else run_inline)(play.play())
    except InputEnded:
        raise KeyboardInterrupt from None
    episode = play.episode()
    out.rule(f"the episode is over: {episode.stop_reason}")
    if episode.failure:
        out.print(printable(episode.failure), markup=False, style="red")
    for seat, reward in episode.rewards.items():
        out.print(f"{seat}: reward {reward:.2f}")
    for name, value in episode.outcome.items():
        if isinstance(value, Mapping):
            value = ", ".join(f"{part} {share}" for part, share in value.items())
        if isinstance(value, (int, float, str, bool)):
            out.print(f"{name}: {value}", markup=False)
    out.print(f"seed: {episode.seed}")
    return 0
