"""The user's phone under the hands of a task: how it starts, and what is asserted of it at the end."""

from __future__ import annotations

from typing import Any, Literal

from simenvs.envs.tau2.domains.telecom.phone import (
    NO_WIFI,
    mobile_data_works,
    network_found,
    speed_test,
)
from simenvs.envs.tau2.domains.telecom.schema import (
    APNNames,
    NetworkStatus,
    NetworkTechnology,
    PerformanceLevel,
    SimStatus,
    VpnDetails,
)
from simenvs.envs.tau2.toolkit import Toolkit


class PhoneControls(Toolkit):
    """What is done to the phone without being a tool.

    ``hidden``: ``vpn_poor``, whether the VPN server that the phone connects to has been broken;
    ``vpn_own``, whether the phone's connection is to that server. The official implementation shares the
    one server between all environments of a process; here each environment has its own.
    """

    # -- state ----------------------------------------------------------------------------------

    @property
    def phone(self) -> Any:
        """The phone, to read only."""
        return self.db.device[0]

    @property
    def surroundings(self) -> Any:
        """The user's surroundings, to read only."""
        return self.db.surroundings[0]

    def edit_surroundings(self) -> Any:
        """The user's surroundings, to change."""
        return self.db.surroundings.edit(0)

    def _edit(self) -> Any:
        return self.db.device.edit(0)

    def _toggle(self, setting: str) -> bool:
        phone = self._edit()
        phone[setting] = not phone[setting]
        return bool(phone[setting])

    def _toggle_data(self) -> bool:
        enabled = self._toggle("data_enabled")
        self.simulate_network_search()
        return enabled

    def _toggle_roaming(self) -> bool:
        enabled = self._toggle("roaming_enabled")
        self.simulate_network_search()
        return enabled

    def _toggle_airplane_mode(self) -> bool:
        enabled = self._toggle("airplane_mode")
        phone = self._edit()
        if enabled or phone["wifi_enabled"]:
            phone.update(NO_WIFI)
        if enabled:
            self._disconnect_vpn()
        self.simulate_network_search()
        return enabled

    def _disconnect_vpn(self) -> bool:
        if not self.phone["vpn_connected"]:
            return False
        self._edit().update(vpn_connected=False, vpn_details=None)
        self.hidden["vpn_own"] = False
        return True

    def _sim_status(self) -> str:
        if self.phone["sim_card_missing"]:
            return SimStatus.MISSING.value
        return str(self.phone["sim_card_status"])

    def _permissions(self, app_name: str) -> list[str] | None:
        app = self.phone["app_statuses"].get(app_name)
        if not app:
            return None
        return [name for name, allowed in app["permissions"].items() if allowed]

    def _speed(self) -> tuple[float | None, str]:
        return speed_test(self.phone, self.surroundings)

    def _can_send_mms(self) -> bool:
        phone = self.phone
        messaging = phone["app_statuses"].get("messaging")
        return bool(
            mobile_data_works(phone, self.surroundings)
            and phone["network_technology_connected"] != NetworkTechnology.TWO_G
            and not (phone["wifi_calling_enabled"] and phone["wifi_calling_mms_over_wifi"])
            and phone["active_apn_settings"]["mmsc_url"] is not None
            and messaging is not None
            and messaging["permissions"]["storage"]
            and messaging["permissions"]["sms"]
        )

    def _connect_vpn(self) -> bool:
        if self.phone["vpn_connected"]:
            return False
        poor = self.hidden.get("vpn_poor", False)
        details = VpnDetails(
            server_address="192.168.1.1",
            protocol="OpenVPN",
            server_performance=PerformanceLevel.POOR if poor else PerformanceLevel.EXCELLENT,
        )
        self._edit().update(vpn_connected=True, vpn_details=details.model_dump(mode="json"))
        self.hidden["vpn_own"] = True
        return True

    # -- what a task starts with ----------------------------------------------------------------

    def set_user_info(self, name: str, phone_number: str) -> None:
        """Say who the user is."""
        self.edit_surroundings().update(name=name, phone_number=phone_number)

    def set_user_location(self, abroad: bool) -> None:
        """Say whether the user is abroad."""
        self.edit_surroundings()["is_abroad"] = abroad

    def turn_airplane_mode_on(self) -> str:
        """Switch airplane mode on."""
        if not self._toggle_airplane_mode():
            self._toggle_airplane_mode()
        return "Airplane Mode is now ON."

    def turn_airplane_mode_off(self) -> str:
        """Switch airplane mode off."""
        if self._toggle_airplane_mode():
            self._toggle_airplane_mode()
        return "Airplane Mode is now OFF."

    def unseat_sim_card(self) -> str:
        """Take the SIM card out."""
        self._edit()["sim_card_missing"] = True
        self.simulate_network_search()
        return "SIM card un-seated successfully."

    def lock_sim_card(self, mode: Literal["pin", "puk"]) -> str:
        """Lock the SIM card; no tool unlocks it."""
        if mode in ("pin", "puk"):
            status = SimStatus.LOCKED_PIN if mode == "pin" else SimStatus.LOCKED_PUK
            self._edit()["sim_card_status"] = status.value
        self.simulate_network_search()
        return f"SIM card locked successfully in {mode} mode."

    def turn_data_on(self) -> str:
        """Switch mobile data on."""
        self._edit()["data_enabled"] = True
        return "Data connection restored."

    def turn_data_off(self) -> str:
        """Switch mobile data off."""
        if self._toggle_data():
            self._toggle_data()
        return "Data connection broken."

    def turn_roaming_on(self) -> str:
        """Switch data roaming on."""
        if not self._toggle_roaming():
            self._toggle_roaming()
        return "Data Roaming is now ON."

    def turn_roaming_off(self) -> str:
        """Switch data roaming off."""
        if self._toggle_roaming():
            self._toggle_roaming()
        return "Data Roaming is now OFF."

    def turn_data_saver_mode_on(self) -> str:
        """Switch Data Saver mode on."""
        self._edit()["data_saver_mode"] = True
        return "Data Saver Mode is now ON."

    def turn_data_saver_mode_off(self) -> str:
        """Switch Data Saver mode off."""
        self._edit()["data_saver_mode"] = False
        return "Data Saver Mode is now OFF."

    def break_apn_settings(self) -> str:
        """Break the access point; a reset mends it."""
        self._edit()["active_apn_settings"]["apn_name"] = APNNames.BROKEN.value
        self.simulate_network_search()
        return "APN settings broken. Please call reset_apn_settings() to fix."

    def break_apn_mms_setting(self) -> str:
        """Break picture messages; a reset of the access point mends them."""
        self._edit()["active_apn_settings"]["mmsc_url"] = None
        return "APN MMS setting broken. Please call reset_apn_settings() to fix."

    def set_wifi_calling(self, enabled: bool, mms_over_wifi: bool | None = None) -> str:
        """Switch calls, and picture messages, over Wi-Fi on or off."""
        if self.phone["wifi_calling_enabled"] != enabled:
            self._toggle("wifi_calling_enabled")
        text = f"Wi-Fi Calling is now {on_off(enabled)}."
        if mms_over_wifi is not None:
            self._edit()["wifi_calling_mms_over_wifi"] = mms_over_wifi
            text += f"\nMMS over Wi-Fi is now {on_off(mms_over_wifi)}."
        return text

    def break_vpn(self) -> str:
        """Connect to the VPN and make its server slow."""
        self._connect_vpn()
        self._edit()["vpn_details"]["server_performance"] = PerformanceLevel.POOR.value
        if self.hidden.get("vpn_own"):
            self.hidden["vpn_poor"] = True
        return "VPN connection broken."

    def remove_app_permission(self, app_name: str, permission: str) -> tuple[bool, str]:
        """Forbid an app something."""
        app = self.phone["app_statuses"].get(app_name)
        permission = permission.lower()
        if not app:
            return False, f"App '{app_name}' not found. Cannot remove permission."
        if permission not in app["permissions"]:
            return False, f"Permission '{permission}' not tracked for app '{app_name}'."
        self._edit()["app_statuses"][app_name]["permissions"][permission] = False
        return True, f"Permission '{permission}' removed from app '{app_name}'."

    def simulate_network_search(self) -> None:
        """Let the phone look for a network, as after every change of its radio settings."""
        self._edit().update(network_found(self.phone, self.surroundings))

    # -- what a task asserts --------------------------------------------------------------------

    def assert_airplane_mode_status(self, expected_status: bool) -> bool:
        """Whether airplane mode is on."""
        return bool(self.phone["airplane_mode"] == expected_status)

    def assert_service_status(self, expected_status: str) -> bool:
        """Whether the network connection has this status."""
        return bool(self.phone["network_connection_status"] == NetworkStatus(expected_status))

    def assert_mobile_data_status(self, expected_status: bool) -> bool:
        """Whether mobile data works."""
        return mobile_data_works(self.phone, self.surroundings) == expected_status

    def assert_mobile_roaming_status(self, expected_status: bool) -> bool:
        """Whether data roaming is on."""
        return bool(self.phone["roaming_enabled"] == expected_status)

    def assert_mobile_data_saver_mode_status(self, expected_status: bool) -> bool:
        """Whether Data Saver mode is on."""
        return bool(self.phone["data_saver_mode"] == expected_status)

    def assert_internet_speed(
        self, expected_speed: float, expected_desc: str | None = None
    ) -> bool:
        """Whether mobile data is at least this fast, in Mbps, and rated so."""
        speed, rating = self._speed()
        fast = (speed or 0.0) >= expected_speed
        return fast and (expected_desc is None or rating.lower() == expected_desc.lower())

    def assert_internet_not_excellent(self) -> bool:
        """Whether mobile data is not rated excellent."""
        return self._speed()[1].lower() != "excellent"

    def assert_can_send_mms(self, expected_status: bool) -> bool:
        """Whether picture messages can be sent."""
        return self._can_send_mms() == expected_status

    def assert_mobile_data_usage_exceeded(self, expected_status: bool) -> bool:
        """Whether the line's data is used up."""
        return bool(self.surroundings["mobile_data_usage_exceeded"] == expected_status)


def on_off(setting: object) -> str:
    """A setting in words."""
    return "ON" if setting else "OFF"
