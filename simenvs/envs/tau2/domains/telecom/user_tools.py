"""The user's tools of the telecom domain (official interface: ``domains/telecom/user_tools.py``)."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from simenvs.envs.tau2.domains.telecom.phone import (
    NO_WIFI,
    status_bar,
)
from simenvs.envs.tau2.domains.telecom.phone_controls import PhoneControls, on_off
from simenvs.envs.tau2.domains.telecom.schema import (
    APNSettings,
    NetworkModePreference,
    NetworkStatus,
    PerformanceLevel,
    SimStatus,
)
from simenvs.envs.tau2.toolkit import tool

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


class TelecomUserTools(PhoneControls):
    """The user's tools: their phone, and the payment of a bill."""

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
            f"Airplane Mode: {on_off(phone['airplane_mode'])}",
            f"SIM Card Status: {self._sim_status()}",
            f"Cellular Connection: {phone['network_connection_status']}",
            f"Cellular Signal: {phone['network_signal_strength']}",
            f"Cellular Network Type: {phone['network_technology_connected']}",
            f"Mobile Data Enabled: {_yes(phone['data_enabled'])}",
            f"Data Roaming Enabled: {_yes(phone['roaming_enabled'])}",
            f"Wi-Fi Radio: {on_off(phone['wifi_enabled'])}",
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
        return self._done(f"Airplane Mode is now {on_off(self._toggle_airplane_mode())}.")

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
        return self._done(f"Mobile Data is now {on_off(self._toggle_data())}.")

    @tool("write")
    def toggle_roaming(self) -> str:
        """Switch data roaming on or off: mobile data abroad."""
        return self._done(f"Data Roaming is now {on_off(self._toggle_roaming())}.")

    @tool("read")
    def check_data_restriction_status(self) -> str:
        """Look up whether Data Saver mode limits mobile data."""
        if self.phone["data_saver_mode"]:
            return "Data Saver mode is ON (limits data usage)."
        return "Data Saver mode is OFF."

    @tool("write")
    def toggle_data_saver_mode(self) -> str:
        """Switch Data Saver mode on or off; it saves data and may slow it down."""
        return self._done(f"Data Saver Mode is now {on_off(self._toggle('data_saver_mode'))}.")

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
            self._edit().update(NO_WIFI)
        return self._done(f"Wi-Fi is now {on_off(enabled)}.")

    @tool("read")
    def check_wifi_calling_status(self) -> str:
        """Look up whether calls go over Wi-Fi."""
        return f"Wi-Fi Calling is currently turned {on_off(self.phone['wifi_calling_enabled'])}."

    @tool("write")
    def toggle_wifi_calling(self) -> str:
        """Switch calls over Wi-Fi on or off."""
        return self._done(f"Wi-Fi Calling is now {on_off(self._toggle('wifi_calling_enabled'))}.")

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
        if not self._connect_vpn():
            return "VPN already connected."
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

    # -- answers --------------------------------------------------------------------------------

    def _done(self, text: str) -> str:
        return f"{text}\nStatus Bar: {status_bar(self.phone)}"

    def _refused_mode(self, mode: object) -> str:
        return self._done(
            f"Failed to set network mode: '{mode}' is not a valid option."
            f" Please use one of: {MODES}"
        )


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
