"""The form of the retail domain's database (official ``domains/retail/db.json``)."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict


class Variant(BaseModel):
    """An item of a product, with its options and price."""

    item_id: str
    options: dict[str, str]
    available: bool
    price: float


class Product(BaseModel):
    """A kind of item."""

    name: str
    product_id: str
    variants: dict[str, Variant]


class UserName(BaseModel):
    """Of a user."""

    first_name: str
    last_name: str


class UserAddress(BaseModel):
    """Of a user or an order."""

    address1: str
    address2: str
    city: str
    country: str
    state: str
    zip: str


class PaymentMethodBase(BaseModel):
    """What all payment methods have."""

    source: str
    id: str


class CreditCard(PaymentMethodBase):
    """A card without a limit."""

    source: Literal["credit_card"]
    brand: str
    last_four: str


class Paypal(PaymentMethodBase):
    """An account without a limit."""

    source: Literal["paypal"]


class GiftCard(PaymentMethodBase):
    """A balance in dollars."""

    source: Literal["gift_card"]
    balance: float


class User(BaseModel):
    """A customer."""

    user_id: str
    name: UserName
    address: UserAddress
    email: str
    payment_methods: dict[str, CreditCard | GiftCard | Paypal]
    orders: list[str]


class OrderFullfilment(BaseModel):
    """A parcel."""

    tracking_id: list[str]
    item_ids: list[str]


class OrderItem(BaseModel):
    """An item as it was ordered."""

    name: str
    product_id: str
    item_id: str
    price: float
    options: dict[str, str]


class OrderPayment(BaseModel):
    """A payment or refund in dollars."""

    transaction_type: Literal["payment", "refund"]
    amount: float
    payment_method_id: str


class Order(BaseModel):
    """An order."""

    order_id: str
    user_id: str
    address: UserAddress
    items: list[OrderItem]
    status: Literal[
        "processed",
        "pending",
        "pending (item modified)",
        "delivered",
        "cancelled",
        "exchange requested",
        "return requested",
    ]
    fulfillments: list[OrderFullfilment]
    payment_history: list[OrderPayment]
    cancel_reason: Literal["no longer needed", "ordered by mistake"] | None = None
    exchange_items: list[str] | None = None
    exchange_new_items: list[str] | None = None
    exchange_payment_method_id: str | None = None
    exchange_price_difference: float | None = None
    return_items: list[str] | None = None
    return_payment_method_id: str | None = None


class RetailDB(BaseModel):
    """The assistant's database."""

    model_config = ConfigDict(extra="forbid")

    products: dict[str, Product]
    users: dict[str, User]
    orders: dict[str, Order]
