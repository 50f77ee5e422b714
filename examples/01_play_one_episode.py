"""Play one episode of Persuasion for Good through Gymnasium and print the chat."""

import gymnasium

import simenvs  # noqa: F401 - registers the ids

env = gymnasium.make("Persuasion-VS-v0", render_mode="ansi")
env.reset(seed=0)
lines = [
    "Hello! Have you heard of this charity?",
    "They help children who have nobody else.",
    "Would you give a part of your payment?",
]
over, turn = False, 0
while not over:
    _, reward, terminated, truncated, info = env.step(lines[turn % len(lines)])
    over, turn = terminated or truncated, turn + 1
print(env.render())
print(f"reward {float(reward):.2f}, donated {info['donated']}, {info['stop_reason']}")
