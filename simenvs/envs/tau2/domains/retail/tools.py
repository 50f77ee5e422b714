"""Tools of the retail domain (official interface: ``domains/retail/tools.py``)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from simenvs.envs.tau2.calculator import calculate
from simenvs.envs.tau2.domains.retail.schema import OrderPayment, UserAddress
from simenvs.envs.tau2.toolkit import Toolkit, tool

OrderId = Annotated[str, Field(description="id of the order with its '#', such as '#W0000000'")]
UserId = Annotated[str, Field(description="id of the user, such as 'sara_doe_496'")]
ProductId = Annotated[
    str, Field(description="id of the product, such as '6086499569'; items have other ids")
]
ItemId = Annotated[
    str, Field(description="id of the item, such as '1008292230'; products have other ids")
]
OldItems = Annotated[
    list[str], Field(description="ids of the items of the order, one for each piece")
]
NewItems = Annotated[
    list[str],
    Field(
        description="ids of the items in their stead, each of the same product, in the same order"
    ),
]
PaymentMethodId = Annotated[
    str,
    Field(description="id of a payment method of the user, such as 'credit_card_0000000'"),
]


class RetailTools(Toolkit):
    """The assistant's tools."""

    @tool("generic")
    def calculate(
        self, expression: Annotated[str, Field(description="such as '2 * (19.99 + 5)'")]
    ) -> str:
        """Compute an expression of numbers, + - * / and parentheses."""
        return calculate(expression)

    @tool("write")
    def cancel_pending_order(
        self,
        order_id: OrderId,
        reason: Annotated[
            str, Field(description="either 'no longer needed' or 'ordered by mistake'")
        ],
    ) -> Any:
        """Cancel a pending order and refund it; gives the order.

        Tell the user the details first and get an explicit yes. Gift cards get the refund at once, other
        payment methods in 5 to 7 business days.
        """
        if self._order(order_id)["status"] != "pending":
            raise ValueError("Non-pending order cannot be cancelled")
        if reason not in {"no longer needed", "ordered by mistake"}:
            raise ValueError("Invalid reason")
        order = self.db.orders.edit(order_id)
        refunds = []
        for payment in order["payment_history"]:
            method_id, amount = payment["payment_method_id"], payment["amount"]
            refunds.append(_payment("refund", amount, method_id))
            if self._method(order["user_id"], method_id)["source"] == "gift_card":
                self._add_balance(order["user_id"], method_id, amount)
        order["status"] = "cancelled"
        order["cancel_reason"] = reason
        order["payment_history"] += refunds
        return order

    @tool("write")
    def exchange_delivered_order_items(
        self,
        order_id: OrderId,
        item_ids: OldItems,
        new_item_ids: NewItems,
        payment_method_id: PaymentMethodId,
    ) -> Any:
        """Exchange items of a delivered order for others of the same product; gives the order.

        Tell the user the details first and get an explicit yes. An order can be exchanged or returned
        only once. The payment method pays, or gets, the difference in price.
        """
        before = self._order(order_id)
        if before["status"] != "delivered":
            raise ValueError("Non-delivered order cannot be exchanged")
        ordered = [item["item_id"] for item in before["items"]]
        for item_id in item_ids:
            if item_ids.count(item_id) > ordered.count(item_id):
                raise ValueError(f"Number of {item_id} not found.")
        if len(item_ids) != len(new_item_ids):
            raise ValueError("The number of items to be exchanged should match.")
        difference: float = 0
        for item_id, new_item_id in zip(item_ids, new_item_ids, strict=True):
            item = _item(before, item_id)
            difference += self._offered(item, new_item_id)["price"] - item["price"]
        difference = round(difference, 2)
        method = self._method(before["user_id"], payment_method_id)
        if method["source"] == "gift_card" and method["balance"] < difference:
            raise ValueError("Insufficient gift card balance to pay for the price difference")
        order = self.db.orders.edit(order_id)
        order["status"] = "exchange requested"
        order["exchange_items"] = sorted(item_ids)
        order["exchange_new_items"] = sorted(new_item_ids)
        order["exchange_payment_method_id"] = payment_method_id
        order["exchange_price_difference"] = difference
        return order

    @tool("read")
    def find_user_id_by_name_zip(self, first_name: str, last_name: str, zip: str) -> str:
        """Find the id of a user by name and zip code; only if they can't be found by email."""
        wanted = first_name.lower()
        named = self.db.users.base.grouped("name", lambda u: u["name"]["first_name"].lower())
        for user_id in named.get(wanted, ()):
            user = self.db.users[user_id]
            if (
                user["name"]["last_name"].lower() == last_name.lower()
                and user["address"]["zip"] == zip
            ):
                return str(user_id)
        raise ValueError("User not found")

    @tool("read")
    def find_user_id_by_email(self, email: str) -> str:
        """Find the id of a user by email."""
        found = self.db.users.base.grouped("email", lambda user: user["email"].lower())
        for user_id in found.get(email.lower(), ()):
            return str(user_id)
        raise ValueError("User not found")

    @tool("read")
    def get_order_details(self, order_id: OrderId) -> Any:
        """Give an order with its status."""
        return self._order(order_id)

    @tool("read")
    def get_product_details(self, product_id: ProductId) -> Any:
        """Give a product with all its items: options, price, availability."""
        return self._product(product_id)

    @tool("read")
    def get_item_details(self, item_id: ItemId) -> Any:
        """Give an item: options, price, availability."""
        for product in self.db.products.values():
            if item_id in product["variants"]:
                return product["variants"][item_id]
        raise ValueError("Item not found")

    @tool("read")
    def get_user_details(self, user_id: UserId) -> Any:
        """Give a user's profile: address, payment methods, ids of orders."""
        return self._user(user_id)

    @tool("read")
    def list_all_product_types(self) -> str:
        """List the names of all 50 products with their ids; each has a number of items."""
        names = {product["name"]: product["product_id"] for product in self.db.products.values()}
        return json.dumps(names, sort_keys=True)

    @tool("write")
    def modify_pending_order_address(
        self,
        order_id: OrderId,
        address1: str,
        address2: Annotated[str, Field(description="second line, '' if there is none")],
        city: str,
        state: Annotated[str, Field(description="such as 'CA'")],
        country: Annotated[str, Field(description="such as 'USA'")],
        zip: str,
    ) -> Any:
        """Change the shipping address of a pending order; gives the order.

        Tell the user the details first and get an explicit yes.
        """
        if not _is_pending(self._order(order_id)):
            raise ValueError("Non-pending order cannot be modified")
        address = _address(address1, address2, city, country, state, zip)
        order = self.db.orders.edit(order_id)
        order["address"] = address
        return order

    @tool("write")
    def modify_pending_order_items(
        self,
        order_id: OrderId,
        item_ids: OldItems,
        new_item_ids: NewItems,
        payment_method_id: PaymentMethodId,
    ) -> Any:
        """Change items of a pending order to others of the same product; gives the order.

        Tell the user the details first and get an explicit yes. This can be done only once for an order.
        The payment method pays, or gets, the difference in price.
        """
        before = self._order(order_id)
        if before["status"] != "pending":
            raise ValueError("Non-pending order cannot be modified")
        ordered = [item["item_id"] for item in before["items"]]
        for item_id in item_ids:
            if item_ids.count(item_id) > ordered.count(item_id):
                raise ValueError(f"{item_id} not found")
        if len(item_ids) != len(new_item_ids):
            raise ValueError("The number of items to be exchanged should match")
        difference: float = 0
        variant: Any = None
        for item_id, new_item_id in zip(item_ids, new_item_ids, strict=True):
            if item_id == new_item_id:
                raise ValueError("The new item id should be different from the old item id")
            item = _item(before, item_id)
            variant = self._offered(item, new_item_id)
            difference += variant["price"] - item["price"]
        method = self._method(before["user_id"], payment_method_id)
        limited = method["source"] == "gift_card"
        if limited and method["balance"] < difference:
            raise ValueError("Insufficient gift card balance to pay for the new item")
        kind = "payment" if difference > 0 else "refund"
        payment = _payment(kind, abs(difference), payment_method_id)
        if limited:
            self._add_balance(before["user_id"], payment_method_id, -difference)
        order = self.db.orders.edit(order_id)
        order["payment_history"].append(payment)
        for item_id, new_item_id in zip(item_ids, new_item_ids, strict=True):
            item = _item(order, item_id)
            item["item_id"] = new_item_id
            # The official tool gives every changed item the price and options of the last one.
            item["price"] = variant["price"]
            item["options"] = dict(variant["options"])
        order["status"] = "pending (item modified)"
        return order

    @tool("write")
    def modify_pending_order_payment(
        self, order_id: OrderId, payment_method_id: PaymentMethodId
    ) -> Any:
        """Change the payment method of a pending order; gives the order.

        Tell the user the details first and get an explicit yes.
        """
        before = self._order(order_id)
        if not _is_pending(before):
            raise ValueError("Non-pending order cannot be modified")
        method = self._method(before["user_id"], payment_method_id)
        history = before["payment_history"]
        if len(history) != 1 or history[0]["transaction_type"] != "payment":
            raise ValueError("There should be exactly one payment for a pending order")
        old_method_id, amount = history[0]["payment_method_id"], history[0]["amount"]
        if old_method_id == payment_method_id:
            raise ValueError("The new payment method should be different from the current one")
        if method["source"] == "gift_card" and method["balance"] < amount:
            raise ValueError("Insufficient gift card balance to pay for the order")
        order = self.db.orders.edit(order_id)
        order["payment_history"] += [
            _payment("payment", amount, payment_method_id),
            _payment("refund", amount, old_method_id),
        ]
        if method["source"] == "gift_card":
            self._add_balance(order["user_id"], payment_method_id, -amount)
        if self._method(order["user_id"], old_method_id)["source"] == "gift_card":
            self._add_balance(order["user_id"], old_method_id, amount)
        return order

    @tool("write")
    def modify_user_address(
        self,
        user_id: UserId,
        address1: str,
        address2: Annotated[str, Field(description="second line, '' if there is none")],
        city: str,
        state: Annotated[str, Field(description="such as 'CA'")],
        country: Annotated[str, Field(description="such as 'USA'")],
        zip: str,
    ) -> Any:
        """Change the default address of a user; gives the user.

        Tell the user the details first and get an explicit yes.
        """
        self._user(user_id)
        address = _address(address1, address2, city, country, state, zip)
        user = self.db.users.edit(user_id)
        user["address"] = address
        return user

    @tool("write")
    def return_delivered_order_items(
        self, order_id: OrderId, item_ids: OldItems, payment_method_id: PaymentMethodId
    ) -> Any:
        """Return items of a delivered order; gives the order.

        Tell the user the details first and get an explicit yes. The refund goes to the original payment
        method or to a gift card. The user gets an email on how to send the items back.
        """
        before = self._order(order_id)
        if before["status"] != "delivered":
            raise ValueError("Non-delivered order cannot be returned")
        method = self._method(before["user_id"], payment_method_id)
        if (
            method["source"] != "gift_card"
            and payment_method_id != before["payment_history"][0]["payment_method_id"]
        ):
            raise ValueError("Payment method should be the original payment method")
        ordered = [item["item_id"] for item in before["items"]]
        for item_id in item_ids:
            if item_ids.count(item_id) > ordered.count(item_id):
                raise ValueError("Some item not found")
        order = self.db.orders.edit(order_id)
        order["status"] = "return requested"
        order["return_items"] = sorted(item_ids)
        order["return_payment_method_id"] = payment_method_id
        return order

    @tool("generic")
    def transfer_to_human_agents(self, summary: str) -> str:
        """Hand the user over to a human, with a summary of what they need.

        Only if the user asks for a human, or if neither policy nor tools allow a solution.
        """
        return "Transfer successful"

    # -- lookups --------------------------------------------------------------------------------

    def _order(self, order_id: str) -> Any:
        if order_id not in self.db.orders:
            raise ValueError("Order not found")
        return self.db.orders[order_id]

    def _user(self, user_id: str) -> Any:
        if user_id not in self.db.users:
            raise ValueError("User not found")
        return self.db.users[user_id]

    def _product(self, product_id: str) -> Any:
        if product_id not in self.db.products:
            raise ValueError("Product not found")
        return self.db.products[product_id]

    def _offered(self, item: Mapping[str, Any], new_item_id: str) -> Any:
        """The item of the same product that is to take this one's place."""
        variants = self._product(item["product_id"])["variants"]
        if new_item_id not in variants:
            raise ValueError("Variant not found")
        if not variants[new_item_id]["available"]:
            raise ValueError(f"New item {new_item_id} not found or available")
        return variants[new_item_id]

    def _method(self, user_id: str, payment_method_id: str) -> Any:
        user = self._user(user_id)
        if payment_method_id not in user["payment_methods"]:
            raise ValueError("Payment method not found")
        return user["payment_methods"][payment_method_id]

    def _add_balance(self, user_id: str, payment_method_id: str, amount: float) -> None:
        method = self.db.users.edit(user_id)["payment_methods"][payment_method_id]
        method["balance"] = round(method["balance"] + amount, 2)


def _item(order: Mapping[str, Any], item_id: str) -> Any:
    for item in order["items"]:
        if item["item_id"] == item_id:
            return item
    raise ValueError(f"Item {item_id} not found")


def _is_pending(order: Mapping[str, Any]) -> bool:
    return "pending" in order["status"]


def _payment(kind: str, amount: float, payment_method_id: str) -> dict[str, Any]:
    payment = OrderPayment(
        transaction_type=kind,  # type: ignore[arg-type]
        amount=amount,
        payment_method_id=payment_method_id,
    )
    return payment.model_dump()


def _address(
    address1: str, address2: str, city: str, country: str, state: str, zip: str
) -> dict[str, Any]:
    address = UserAddress(
        address1=address1, address2=address2, city=city, country=country, state=state, zip=zip
    )
    return address.model_dump()
