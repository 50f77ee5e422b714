"""The form of the telecom domain's databases (official ``domains/telecom/db.toml``, ``user_db.toml``)."""

from __future__ import annotations

import datetime
from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field


class Strict(BaseModel):
    """A model without other fields than its own."""

    model_config = ConfigDict(extra="forbid")


# -- the company ----------------------------------------------------------------------------------


class Address(Strict):
    """Of a customer."""

    street: str
    city: str
    state: str
    zip_code: str


class Plan(Strict):
    """What a line costs, in dollars, and allows, in gigabytes."""

    plan_id: str
    name: str
    data_limit_gb: float
    price_per_month: float
    data_refueling_price_per_gb: float


class DeviceType(StrEnum):
    """Kinds of devices."""

    PHONE = "phone"
    ROUTER = "router"
    TABLET = "tablet"
    WATCH = "watch"
    OTHER = "other"


class Device(Strict):
    """A device of a line."""

    device_id: str
    device_type: DeviceType
    model: str
    imei: str | None = None
    is_esim_capable: bool
    activated: bool = False
    activation_date: datetime.datetime | None = None
    last_esim_transfer_date: datetime.datetime | None = None


class LineStatus(StrEnum):
    """Of a line."""

    ACTIVE = "Active"
    SUSPENDED = "Suspended"
    PENDING_ACTIVATION = "Pending Activation"
    CLOSED = "Closed"


class Line(Strict):
    """A phone number with its plan."""

    line_id: str
    phone_number: str
    status: LineStatus = LineStatus.PENDING_ACTIVATION
    plan_id: str
    device_id: str | None = None
    data_used_gb: float = 0.0
    data_refueling_gb: float = 0.0
    roaming_enabled: bool = False
    contract_end_date: datetime.date | None = None
    last_plan_change_date: datetime.date | None = None
    last_sim_replacement_date: datetime.date | None = None
    suspension_start_date: datetime.date | None = None


class LineItem(Strict):
    """An entry of a bill, in dollars."""

    description: str
    amount: float
    date: datetime.date
    item_type: str


class BillStatus(StrEnum):
    """Of a bill."""

    DRAFT = "Draft"
    ISSUED = "Issued"
    AWAITING_PAYMENT = "Awaiting Payment"
    PAID = "Paid"
    OVERDUE = "Overdue"
    DISPUTED = "Disputed"


class Bill(Strict):
    """What a customer owes for a month."""

    bill_id: str
    customer_id: str
    period_start: datetime.date
    period_end: datetime.date
    issue_date: datetime.date
    total_due: float
    due_date: datetime.date
    line_items: list[LineItem] = []
    status: BillStatus = BillStatus.DRAFT


class AccountStatus(StrEnum):
    """Of a customer."""

    ACTIVE = "Active"
    SUSPENDED = "Suspended"
    PENDING_VERIFICATION = "Pending Verification"
    CLOSED = "Closed"


class PaymentMethodType(StrEnum):
    """Kinds of payment methods."""

    CREDIT_CARD = "Credit Card"
    DEBIT_CARD = "Debit Card"
    PAYPAL = "PayPal"


class PaymentMethod(Strict):
    """How a customer pays."""

    method_type: PaymentMethodType
    account_number_last_4: str
    expiration_date: str


class Customer(Strict):
    """A customer."""

    customer_id: str
    full_name: str
    date_of_birth: str
    email: str
    phone_number: str
    address: Address
    account_status: AccountStatus = AccountStatus.PENDING_VERIFICATION
    payment_methods: list[PaymentMethod] = []
    line_ids: list[str] = []
    bill_ids: list[str] = []
    # The official default is a date, not a date with a time, and the hash shows which.
    created_at: datetime.datetime = datetime.date(2025, 1, 1)  # type: ignore[assignment]
    last_extension_date: datetime.date | None = None
    goodwill_credit_used_this_year: float = 0.0


class TelecomDB(Strict):
    """The assistant's database."""

    plans: list[Plan] = []
    customers: list[Customer] = []
    lines: list[Line] = []
    bills: list[Bill] = []
    devices: list[Device] = []


# -- the user's phone -----------------------------------------------------------------------------


class SimStatus(StrEnum):
    """Of the SIM card."""

    ACTIVE = "active"
    MISSING = "missing"
    LOCKED_PIN = "locked_pin"
    LOCKED_PUK = "locked_puk"


class NetworkTechnology(StrEnum):
    """Kinds of networks."""

    NONE = "none"
    TWO_G = "2G"
    THREE_G = "3G"
    FOUR_G = "4G"
    FIVE_G = "5G"


class NetworkModePreference(StrEnum):
    """Which networks the phone looks for."""

    FOUR_G_5G_PREFERRED = "4g_5g_preferred"
    FOUR_G_ONLY = "4g_only"
    THREE_G_ONLY = "3g_only"
    TWO_G_ONLY = "2g_only"


class SignalStrength(StrEnum):
    """Bars of signal."""

    NONE = "none"
    POOR = "poor"
    FAIR = "fair"
    GOOD = "good"
    EXCELLENT = "excellent"


class PerformanceLevel(StrEnum):
    """Of a VPN server."""

    UNKNOWN = "unknown"
    POOR = "poor"
    FAIR = "fair"
    GOOD = "good"
    EXCELLENT = "excellent"


class NetworkStatus(StrEnum):
    """Whether there is a network."""

    CONNECTED = "connected"
    SEARCHING = "searching"
    NO_SERVICE = "no_service"
    EMERGENCY_ONLY = "emergency_only"


class APNNames(StrEnum):
    """Access points."""

    INTERNET = "internet"
    BROKEN = "broken"


class APNSettings(Strict):
    """The access point that is used."""

    apn_name: APNNames = APNNames.INTERNET
    reset_at_reboot: bool = False
    mms_apn: str | None = "mms"
    mmsc_url: str | None = "http://mms.carrier.com/mms/wapenc"
    mms_proxy: str | None = None
    mms_port: int | None = None


class VpnDetails(Strict):
    """The VPN connection."""

    server_address: str | None = None
    protocol: str | None = None
    server_performance: PerformanceLevel = PerformanceLevel.UNKNOWN


class AppPermissions(Strict):
    """What an app may do."""

    sms: bool = False
    storage: bool = False
    phone: bool = False
    network: bool = False


class AppStatus(Strict):
    """An app."""

    app_name: str
    permissions: AppPermissions = AppPermissions()


def _apps() -> dict[str, AppStatus]:
    messaging = AppPermissions(sms=True, storage=True, phone=True)
    browser = AppPermissions(network=True, storage=True)
    return {
        "messaging": AppStatus(app_name="messaging", permissions=messaging),
        "browser": AppStatus(app_name="browser", permissions=browser),
    }


class Phone(Strict):
    """The user's phone."""

    sim_card_status: SimStatus = SimStatus.ACTIVE
    sim_card_missing: bool = False
    airplane_mode: bool = False
    network_signal_strength: SignalStrength = SignalStrength.GOOD
    network_technology_connected: NetworkTechnology = NetworkTechnology.FIVE_G
    network_connection_status: NetworkStatus = NetworkStatus.CONNECTED
    battery_level: int = 80
    data_enabled: bool = True
    roaming_enabled: bool = False
    network_mode_preference: NetworkModePreference = NetworkModePreference.FOUR_G_5G_PREFERRED
    active_apn_settings: APNSettings = APNSettings()
    wifi_enabled: bool = False
    wifi_connected: bool = False
    wifi_ssid: str | None = None
    wifi_signal_strength: SignalStrength = SignalStrength.NONE
    wifi_calling_enabled: bool = False
    wifi_calling_mms_over_wifi: bool = False
    data_saver_mode: bool = False
    vpn_enabled_setting: bool = False
    vpn_connected: bool = False
    vpn_details: VpnDetails | None = None
    app_statuses: dict[str, AppStatus] = Field(default_factory=_apps)


class PaymentRequest(Strict):
    """A bill that the user is asked to pay, in dollars."""

    bill_id: str
    amount_due: float
    paid: bool = False


def _signals() -> dict[NetworkTechnology, SignalStrength]:
    return {
        NetworkTechnology.TWO_G: SignalStrength.POOR,
        NetworkTechnology.THREE_G: SignalStrength.FAIR,
        NetworkTechnology.FOUR_G: SignalStrength.GOOD,
        NetworkTechnology.FIVE_G: SignalStrength.EXCELLENT,
    }


class UserSurroundings(Strict):
    """Where the user is, and what the company lets the phone do."""

    name: str | None = None
    phone_number: str | None = None
    is_abroad: bool = False
    roaming_allowed: bool = False
    signal_strength: dict[NetworkTechnology, SignalStrength] = Field(default_factory=_signals)
    mobile_data_usage_exceeded: bool = False
    line_active: bool = True
    payment_request: PaymentRequest | None = None


class TelecomUserDB(Strict):
    """The user's database."""

    device: Phone = Field(default_factory=Phone)
    surroundings: UserSurroundings = Field(default_factory=UserSurroundings)
