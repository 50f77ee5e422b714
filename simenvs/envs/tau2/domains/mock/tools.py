"""Tools of the mock domain (official interface: ``domains/mock/tools.py``, ``user_tools.py``)."""

from __future__ import annotations

from typing import Any

from simenvs.envs.tau2.domains.mock.schema import Notification, Task, TaskStatus
from simenvs.envs.tau2.toolkit import Toolkit, tool


class MockTools(Toolkit):
    """The assistant's tools."""

    @tool("write")
    def create_task(
        self,
        user_id: str,
        title: str,
        description: str = None,  # type: ignore[assignment]  # noqa: RUF013 - the official schema
    ) -> Any:
        """Add a task for a user; gives the task."""
        if user_id not in self.db.users:
            raise ValueError(f"User {user_id} not found")
        task_id = f"task_{len(self.db.tasks) + 1}"
        task = Task(task_id=task_id, title=title, description=description, status="pending")
        self.db.tasks[task_id] = record = task.model_dump()
        self.db.users.edit(user_id)["tasks"].append(task_id)
        return record

    @tool("read")
    def get_users(self) -> Any:
        """List all users with the ids of their tasks."""
        return list(self.db.users.values())

    @tool("write")
    def update_task_status(self, task_id: str, status: TaskStatus) -> Any:
        """Set the status of a task; gives the task."""
        if task_id not in self.db.tasks:
            raise ValueError(f"Task {task_id} not found")
        task = self.db.tasks.edit(task_id)
        task["status"] = status
        return task

    @tool("generic")
    def transfer_to_human_agents(self, summary: str) -> str:
        """Hand the user over to a human, with a summary of what they need.

        Only if the user asks for a human, or if neither policy nor tools allow a solution.
        """
        return "Transfer successful"

    def assert_number_of_tasks(self, user_id: str, expected_number: int) -> bool:
        """Whether the user has this many tasks."""
        if user_id not in self.db.users:
            raise ValueError(f"User {user_id} not found")
        return len(self.db.users[user_id]["tasks"]) == expected_number

    def assert_task_status(self, task_id: str, expected_status: TaskStatus) -> bool:
        """Whether the task has this status."""
        if task_id not in self.db.tasks:
            raise ValueError(f"Task {task_id} not found")
        return bool(self.db.tasks[task_id]["status"] == expected_status)


class MockUserTools(Toolkit):
    """The user's tools."""

    @tool("read")
    def check_notifications(self) -> Any:
        """List all notifications in your inbox."""
        return list(self.db.notifications.values())

    @tool("write")
    def dismiss_notification(self, notification_id: str) -> str:
        """Mark a notification as read."""
        if notification_id not in self.db.notifications:
            raise ValueError(f"Notification {notification_id} not found")
        self.db.notifications.edit(notification_id)["status"] = "read"
        return f"Notification {notification_id} dismissed"

    def add_notification(
        self, notification_id: str, message: str, task_id: str | None = None
    ) -> None:
        """Put an unread notification into the inbox."""
        added = Notification(notification_id=notification_id, message=message, task_id=task_id)
        self.db.notifications[notification_id] = added.model_dump()

    def assert_notification_status(self, notification_id: str, expected_status: str) -> bool:
        """Whether the notification has this status."""
        if notification_id not in self.db.notifications:
            raise ValueError(f"Notification {notification_id} not found")
        return bool(self.db.notifications[notification_id]["status"] == expected_status)
