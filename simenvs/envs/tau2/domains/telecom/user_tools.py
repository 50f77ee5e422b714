"""The user's tools of the telecom domain (official interface: ``domains/telecom/user_tools.py``)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from simenvs.envs.tau2.domains.telecom.phone import (
    mobile_data_works,
    network_found,
    speed_test,
    status_bar,
)
from simenvs.envs.tau2.domains.telecom.schema import (
    APNNames,
    APNSettings,
    NetworkModePreference,
    NetworkStatus,
    NetworkTechnology,
    PerformanceLevel,
    SignalStrength,
    SimStatus,
    VpnDetails,
)
from simenvs.envs.tau2.toolkit import Toolkit, tool

AppName = Annotated[str, Field(description="name of the app, such as 'messaging'")]

SIM_TEXTS = {
    SimStatus.ACTIVE: "Your SIM card is active and working.",
    SimStatus.MISSING: "No SIM card detected in the phone.",
    SimStatus.LOCKED_PIN: "The SIM card is locked with a PIN code.",
    SimStatus.LOCKED_PUK: "The SIM card is locked with a PUK code.",
}
SPEED_ADVICE = {
    "Very Poor": "Connection is very slow. Basic web browsing might be difficult.",
    "Poor": "Connection is slow. Web browsing may be sluggish, streaming difficult.",
    "Fair": "Connection is okay for web browsing and some standard definition streaming.",
    "Good": "Connection is good for most activities, including HD streaming.",
    "Excellent": "Connection is very fast.",
}
MODES = ", ".join(mode.value for mode in NetworkModePreference)


class TelecomUserTools(Toolkit):
    """The user's tools: their phone, and the payment of a bill.

    ``hidden``: ``vpn_poor``, whether the VPN server that the phone connects to has been broken;
    ``vpn_own``, whether the phone's connection is to that server. The official implementation shares the
    one server between all environments of a process; here each environment has its own.
    """

    # -- looking --------------------------------------------------------------------------------

    @tool("read")
    def check_status_bar(self) -> str:
        """Look at the icons of your phone's status bar: signal, mobile data, Wi-Fi, battery."""
        return f"Status Bar: {status_bar(self.phone)}"

    @tool("read")
    def check_network_status(self) -> str:
        """Look up the phone's connections: airplane mode, SIM, signal, mobile data, roaming, Wi-Fi."""
        phone = self.phone
        lines = [
            f"Airplane Mode: {_on(phone['airplane_mode'])}",
            f"SIM Card Status: {self._sim_status()}",
            f"Cellular Connection: {phone['network_connection_status']}",
            f"Cellular Signal: {phone['network_signal_strength']}",
            f"Cellular Network Type: {phone['network_technology_connected']}",
            f"Mobile Data Enabled: {_yes(phone['data_enabled'])}",
            f"Data Roaming Enabled: {_yes(phone['roaming_enabled'])}",
            f"Wi-Fi Radio: {_on(phone['wifi_enabled'])}",
            f"Wi-Fi Connected: {_yes(phone['wifi_connected'])}",
        ]
        if phone["wifi_connected"]:
            lines.append(f"Connected Wi-Fi Network: {phone['wifi_ssid']}")
        return "\n".join(lines)

    @tool("read")
    def check_network_mode_preference(self) -> str:
        """Look up which kinds of networks the phone prefers."""
        return f"Network Mode Preference: {_value(self.phone['network_mode_preference'])}"

    @tool("write")
    def set_network_mode_preference(self, mode: NetworkModePreference | str) -> str:
        """Set which kinds of networks the phone prefers."""
        given: object = mode
        if isinstance(given, str) and given not in set(NetworkModePreference):
            return self._refused_mode(mode)
        self._edit()["network_mode_preference"] = mode
        self.simulate_network_search()
        if given is None:
            return self._refused_mode(mode)
        return self._done(f"Preferred Network Mode set to: {_value(mode)}")

    @tool("read")
    def run_speed_test(self) -> str:
        """Measure how fast the mobile data connection is."""
        speed, rating = self._speed()
        if speed is None:
            return f"Speed test failed: {rating}."
        return f"Speed Test Result: {speed:.2f} Mbps ({rating}). {SPEED_ADVICE[rating]}"

    # -- airplane mode and SIM card -------------------------------------------------------------

    @tool("write")
    def toggle_airplane_mode(self) -> str:
        """Switch airplane mode on or off; it cuts all wireless connections."""
        return self._done(f"Airplane Mode is now {_on(self._toggle_airplane_mode())}.")

    @tool("read")
    def check_sim_status(self) -> str:
        """Look up whether the SIM card works, is missing or is locked."""
        return SIM_TEXTS[SimStatus(self._sim_status())]

    @tool("write")
    def reseat_sim_card(self) -> str:
        """Take the SIM card out and put it in again."""
        self._edit()["sim_card_missing"] = False
        self.simulate_network_search()
        _expect(self._sim_status() != SimStatus.MISSING)
        return self._done("SIM card re-seated successfully.")

    # -- mobile data ----------------------------------------------------------------------------

    @tool("write")
    def toggle_data(self) -> str:
        """Switch mobile data on or off."""
        return self._done(f"Mobile Data is now {_on(self._toggle_data())}.")

    @tool("write")
    def toggle_roaming(self) -> str:
        """Switch data roaming on or off: mobile data abroad."""
        return self._done(f"Data Roaming is now {_on(self._toggle_roaming())}.")

    @tool("read")
    def check_data_restriction_status(self) -> str:
        """Look up whether Data Saver mode limits mobile data."""
        if self.phone["data_saver_mode"]:
            return "Data Saver mode is ON (limits data usage)."
        return "Data Saver mode is OFF."

    @tool("write")
    def toggle_data_saver_mode(self) -> str:
        """Switch Data Saver mode on or off; it saves data and may slow it down."""
        return self._done(f"Data Saver Mode is now {_on(self._toggle('data_saver_mode'))}.")

    # -- access point ---------------------------------------------------------------------------

    @tool("read")
    def check_apn_settings(self) -> str:
        """Look up the access point that the phone uses: its name and the address for MMS."""
        settings = self.phone["active_apn_settings"]
        return (
            f"Current APN Name: {settings['apn_name'] or 'Not Set'}\n"
            f"MMSC URL (for picture messages): {settings['mmsc_url'] or 'Not Set'}\n"
            "(These are technical settings, usually best left unchanged.)"
        )

    @tool("write")
    def set_apn_settings(self, apn_settings: APNSettings | dict) -> str:  # type: ignore[type-arg]
        """Set the access point that the phone uses."""
        if isinstance(apn_settings, dict):
            apn_settings = APNSettings(**apn_settings)
        name = apn_settings.apn_name.value
        self._edit()["active_apn_settings"] = apn_settings.model_dump(mode="json")
        self.simulate_network_search()
        return self._done(f"APN settings set to: {name}")

    @tool("write")
    def reset_apn_settings(self) -> str:
        """Reset the access point to the phone's own at the next restart."""
        self._edit()["active_apn_settings"]["reset_at_reboot"] = True
        self.simulate_network_search()
        return self._done("APN settings will reset at reboot.")

    # -- Wi-Fi ----------------------------------------------------------------------------------

    @tool("read")
    def check_wifi_status(self) -> str:
        """Look up whether Wi-Fi is on, and which network the phone is in."""
        phone = self.phone
        if not phone["wifi_enabled"]:
            return "Wi-Fi is turned OFF."
        if not phone["wifi_connected"]:
            return "Wi-Fi is ON but not connected to any network."
        return (
            f"Wi-Fi is ON and connected to '{phone['wifi_ssid']}'. "
            f"Signal strength: {phone['wifi_signal_strength']}."
        )

    @tool("write")
    def toggle_wifi(self) -> str:
        """Switch Wi-Fi on or off."""
        if self.phone["airplane_mode"]:
            return self._done("Cannot change Wi-Fi settings while Airplane Mode is ON.")
        enabled = self._toggle("wifi_enabled")
        if not enabled:
            self._edit().update(_NO_WIFI)
        return self._done(f"Wi-Fi is now {_on(enabled)}.")

    @tool("read")
    def check_wifi_calling_status(self) -> str:
        """Look up whether calls go over Wi-Fi."""
        return f"Wi-Fi Calling is currently turned {_on(self.phone['wifi_calling_enabled'])}."

    @tool("write")
    def toggle_wifi_calling(self) -> str:
        """Switch calls over Wi-Fi on or off."""
        return self._done(f"Wi-Fi Calling is now {_on(self._toggle('wifi_calling_enabled'))}.")

    # -- VPN ------------------------------------------------------------------------------------

    @tool("read")
    def check_vpn_status(self) -> str:
        """Look up whether a VPN is connected, and which."""
        phone = self.phone
        if phone["vpn_connected"]:
            details = phone["vpn_details"]
            if not details:
                return "VPN is ON and connected (no specific details available)."
            level = PerformanceLevel(details["server_performance"])
            shown = {**details, "server_performance": level}
            return f"VPN is ON and connected. Details: {shown}"
        if phone["vpn_enabled_setting"]:
            return "VPN is turned ON in settings, but currently not connected."
        return "VPN is turned OFF."

    @tool("write")
    def connect_vpn(self) -> str:
        """Connect to your VPN."""
        if self.phone["vpn_connected"]:
            return "VPN already connected."
        poor = self.hidden.get("vpn_poor", False)
        details = VpnDetails(
            server_address="192.168.1.1",
            protocol="OpenVPN",
            server_performance=PerformanceLevel.POOR if poor else PerformanceLevel.EXCELLENT,
        )
        phone = self._edit()
        phone["vpn_connected"] = True
        phone["vpn_details"] = details.model_dump(mode="json")
        self.hidden["vpn_own"] = True
        return self._done("VPN connected successfully.")

    @tool("write")
    def disconnect_vpn(self) -> str:
        """Disconnect the VPN."""
        if not self._disconnect_vpn():
            return self._done("No active VPN connection to disconnect.")
        return self._done("VPN disconnected successfully.")

    # -- apps and MMS ---------------------------------------------------------------------------

    @tool("read")
    def check_installed_apps(self) -> str:
        """List the apps on the phone."""
        apps = ", ".join(self.phone["app_statuses"])
        return f"The following apps are installed on the phone: {apps}"

    @tool("read")
    def check_app_status(self, app_name: AppName) -> str:
        """Look up an app and what it may do."""
        allowed = self._permissions(app_name)
        if allowed is None:
            return f"App '{app_name}' not found on this phone."
        lines = [f"Status for App: {app_name}"]
        lines.append(" - Permissions Granted:" if allowed else " - Permissions: None granted.")
        return "\n".join([*lines, *(f"   - {permission}" for permission in allowed)])

    @tool("read")
    def check_app_permissions(self, app_name: AppName) -> str:
        """Look up what an app may do."""
        allowed = self._permissions(app_name)
        if allowed is None:
            return f"App '{app_name}' not found on this phone."
        if not allowed:
            return f"App '{app_name}' currently has no permissions granted."
        return f"App '{app_name}' has permission for: {', '.join(allowed)}."

    @tool("write")
    def grant_app_permission(
        self,
        app_name: AppName,
        permission: Annotated[str, Field(description="such as 'storage', in lower case")],
    ) -> str:
        """Allow an app something."""
        app = self.phone["app_statuses"].get(app_name)
        permission = permission.lower()
        if not app:
            return self._done(f"Error. App '{app_name}' not found. Cannot grant permission.")
        known = list(app["permissions"])
        if permission not in known:
            return self._done(
                f"Error. Permission '{permission}' not tracked for app '{app_name}',"
                f" available permissions: {known}"
            )
        self._edit()["app_statuses"][app_name]["permissions"][permission] = True
        return self._done(f"Success. Permission '{permission}' granted to app '{app_name}'.")

    @tool("read")
    def can_send_mms(self) -> str:
        """Try whether the messaging app can send picture messages."""
        can = "can" if self._can_send_mms() else "cannot"
        return f"Your messaging app {can} send MMS messages."

    @tool("write")
    def reboot_device(self) -> str:
        """Restart the phone."""
        lines = []
        if self.phone["active_apn_settings"]["reset_at_reboot"]:
            lines.append("Resetting APN settings...")
            self._edit()["active_apn_settings"] = APNSettings().model_dump(mode="json")
        lines.append("Restarting network services...")
        self._edit()["network_connection_status"] = NetworkStatus.SEARCHING.value
        self.simulate_network_search()
        return self._done("\n".join(lines))

    # -- bills ----------------------------------------------------------------------------------

    @tool("read")
    def check_payment_request(self) -> str:
        """Look up whether you have been asked to pay a bill."""
        request = self.surroundings["payment_request"]
        if request is None:
            return "No payment request has been made."
        return (
            f"You have a payment request for bill {request['bill_id']}"
            f" of {request['amount_due']} USD."
        )

    @tool("write")
    def make_payment(self) -> str:
        """Pay the bill that you have been asked to pay."""
        request = self.surroundings["payment_request"]
        if request is None:
            return "You do not have a payment request."
        self.edit_surroundings()["payment_request"]["paid"] = True
        return (
            f"Payment of {request['amount_due']} USD has been made for bill {request['bill_id']}."
        )

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
        text = f"Wi-Fi Calling is now {_on(enabled)}."
        if mms_over_wifi is not None:
            self._edit()["wifi_calling_mms_over_wifi"] = mms_over_wifi
            text += f"\nMMS over Wi-Fi is now {_on(mms_over_wifi)}."
        return text

    def break_vpn(self) -> str:
        """Connect to the VPN and make its server slow."""
        self.connect_vpn()
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
            phone.update(_NO_WIFI)
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

    def _done(self, text: str) -> str:
        return f"{text}\nStatus Bar: {status_bar(self.phone)}"

    def _refused_mode(self, mode: object) -> str:
        return self._done(
            f"Failed to set network mode: '{mode}' is not a valid option."
            f" Please use one of: {MODES}"
        )


_NO_WIFI = {
    "wifi_connected": False,
    "wifi_ssid": None,
    "wifi_signal_strength": SignalStrength.NONE.value,
}


def _on(setting: object) -> str:
    return "ON" if setting else "OFF"


def _yes(setting: object) -> str:
    return "Yes" if setting else "No"


def _value(mode: object) -> str:
    """A network mode as text; what is none has no ``value``, as the official tool says."""
    if not isinstance(mode, str):
        raise AttributeError(f"'{type(mode).__name__}' object has no attribute 'value'")
    return mode


def _expect(condition: bool) -> None:
    if not condition:
        raise AssertionError
