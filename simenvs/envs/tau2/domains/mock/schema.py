"""The form of the mock domain's databases (official ``domains/mock/db.json``, ``user_db.json``)."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

TaskStatus = Literal["pending", "completed"]


class Task(BaseModel):
    """A to-do."""

    task_id: str
    title: str
    description: str | None = None
    status: TaskStatus


class User(BaseModel):
    """Whose to-dos they are."""

    user_id: str
    name: str
    tasks: list[str]


class MockDB(BaseModel):
    """The assistant's database."""

    model_config = ConfigDict(extra="forbid")

    tasks: dict[str, Task]
    users: dict[str, User]


class Notification(BaseModel):
    """A message in the user's inbox."""

    model_config = ConfigDict(extra="forbid")

    notification_id: str
    message: str
    status: Literal["unread", "read"] = "unread"
    task_id: str | None = None


class MockUserDB(BaseModel):
    """The user's database."""

    model_config = ConfigDict(extra="forbid")

    notifications: dict[str, Notification] = {}
