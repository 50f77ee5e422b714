"""What the user's phone shows and finds: functions of its record and of its surroundings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simenvs.envs.tau2.domains.telecom.schema import (
    APNNames,
    NetworkModePreference,
    NetworkStatus,
    NetworkTechnology,
    PerformanceLevel,
    SignalStrength,
    SimStatus,
)

Record = Mapping[str, Any]

NO_NETWORK = {
    "network_connection_status": NetworkStatus.NO_SERVICE.value,
    "network_technology_connected": NetworkTechnology.NONE.value,
    "network_signal_strength": SignalStrength.NONE.value,
}
NO_WIFI = {
    "wifi_connected": False,
    "wifi_ssid": None,
    "wifi_signal_strength": SignalStrength.NONE.value,
}
SIGNAL_ICONS = {
    "none": "📵 No Signal",
    "poor": "📶¹ Poor",
    "fair": "📶² Fair",
    "good": "📶³ Good",
    "excellent": "📶⁴ Excellent",
}
SIGNAL_FACTORS = {"poor": 0.2, "fair": 0.5, "good": 0.8, "excellent": 1.0, "none": 0.0}
SPEED_RANGES = {
    "2G": (0.1, 0.4),
    "3G": (1.0, 5.0),
    "4G": (10.0, 100.0),
    "5G": (50.0, 500.0),
    "none": (0.0, 0.0),
}
RATINGS = ((1, "Very Poor"), (5, "Poor"), (25, "Fair"), (100, "Good"))
"""Speeds in Mbps below which a connection is rated so; above the last it is excellent."""

_TECHNOLOGIES = {
    NetworkModePreference.THREE_G_ONLY.value: NetworkTechnology.THREE_G.value,
    NetworkModePreference.TWO_G_ONLY.value: NetworkTechnology.TWO_G.value,
}


def status_bar(phone: Record) -> str:
    """The icons of the status bar."""
    icons = []
    connected = phone["network_technology_connected"] != NetworkTechnology.NONE
    if phone["airplane_mode"]:
        icons.append("✈️ Airplane Mode")
    else:
        icons.append(SIGNAL_ICONS[phone["network_signal_strength"]])
        if connected:
            icons.append(phone["network_technology_connected"])
        if connected and phone["data_enabled"]:
            icons.append("📱 Data Enabled")
            if phone["data_saver_mode"]:
                icons.append("🔽 Data Saver")
        else:
            icons.append("📵 Data Disabled")
    if phone["wifi_enabled"] and phone["wifi_connected"]:
        ssid = phone["wifi_ssid"]
        icons.append(f"📡 Connected to {ssid}" if ssid else "📡 Enabled")
    if phone["vpn_connected"]:
        icons.append("🔒 VPN Connected")
    icons.append(f"🔋 {phone['battery_level']}%")
    return " | ".join(icons)


def network_found(phone: Record, surroundings: Record) -> dict[str, str]:
    """The network that the phone finds, as fields of its record."""
    if (
        phone["sim_card_missing"]
        or phone["sim_card_status"] != SimStatus.ACTIVE
        or phone["airplane_mode"]
        or phone["active_apn_settings"]["apn_name"] == APNNames.BROKEN
        or not surroundings["line_active"]
    ):
        return NO_NETWORK
    signals = surroundings["signal_strength"]
    preference = phone["network_mode_preference"]
    technology = NetworkTechnology.FOUR_G.value
    if isinstance(preference, str):
        technology = _TECHNOLOGIES.get(preference, technology)
    if preference == NetworkModePreference.FOUR_G_5G_PREFERRED and (
        signals.get("5G", SignalStrength.NONE) != SignalStrength.NONE
    ):
        technology = NetworkTechnology.FIVE_G.value
    return {
        "network_connection_status": NetworkStatus.CONNECTED.value,
        "network_technology_connected": technology,
        "network_signal_strength": signals.get(technology, SignalStrength.NONE.value),
    }


def mobile_data_works(phone: Record, surroundings: Record) -> bool:
    """Whether mobile data gets through."""
    return not (
        phone["airplane_mode"]
        or phone["network_signal_strength"] == SignalStrength.NONE
        or phone["network_connection_status"] == NetworkStatus.NO_SERVICE
        or (
            surroundings["is_abroad"]
            and not (phone["roaming_enabled"] and surroundings["roaming_allowed"])
        )
        or not phone["data_enabled"]
        or surroundings["mobile_data_usage_exceeded"]
    )


def speed_test(phone: Record, surroundings: Record) -> tuple[float | None, str]:
    """Speed of mobile data in Mbps and its rating; ``None`` and why there is none."""
    if not mobile_data_works(phone, surroundings):
        return None, "No Connection"
    factor = 1.0
    details = phone["vpn_details"]
    if (
        phone["vpn_connected"]
        and details
        and details["server_performance"] == PerformanceLevel.POOR
    ):
        factor = 0.1
    if phone["data_saver_mode"]:
        factor *= 0.2
    slowest, fastest = SPEED_RANGES[phone["network_technology_connected"]]
    signal = SIGNAL_FACTORS[phone["network_signal_strength"]]
    speed = round((slowest + fastest) / 2.0 * signal * factor, 2)
    return speed, next((rating for below, rating in RATINGS if speed < below), "Excellent")
