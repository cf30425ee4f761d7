"""A shop's database, on SQLite or Postgres, and an ontology of it."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar

import yaml

from recollect.domain.database import DomainDatabase
from recollect.domain.ontology import ontology
from recollect.memory_settings import DomainSettings

R = TypeVar("R")

HOSTILE = "'; drop table customers; --"

STATEMENTS = """
create table customers (id integer primary key, name varchar(80), code char(6), email text, since date, password_hash text, photo {bytes});
create table orders (id integer primary key, customer_id integer, placed_at timestamp, total numeric(12, 2), note text);
create table products (sku varchar(40) primary key, title text, price numeric(12, 2));
create table order_lines (order_id integer, line_no integer, sku varchar(40), quantity integer, primary key (order_id, line_no));
create table invoices (number varchar(40) primary key, order_id integer, issued_on date, amount numeric(12, 2));
create table payments (id integer primary key, invoice varchar(40), paid_at {moment}, amount numeric(12, 2));
create table people (country text, "tax no" text, first_name text, last_name text, boss_country text, boss_no text);
insert into customers values (1, 'Acme Corporation', 'ACME', 'office@acme.example', '2019-05-01', 'hush', {blob});
insert into customers values (2, 'Łódź Spółka', 'LODZ', null, '2020-01-31', 'hush', null);
insert into customers values (3, '''; drop table customers; --', 'EVIL', null, null, 'hush', null);
insert into customers values (4, 'Twin', 'TWIN1', null, null, 'hush', null);
insert into customers values (5, 'twin', 'TWIN2', null, null, 'hush', null);
insert into orders values (101, 1, '2024-01-01 00:00:00', 120.50, 'first of the year');
insert into orders values (102, 1, '2024-01-31 23:59:59.999999', 80.00, null);
insert into orders values (103, 1, '2024-02-01 00:00:00', 45.00, null);
insert into orders values (104, 1, '2023-12-31 23:59:59', 10.00, null);
insert into orders values (105, 2, '2024-01-15 12:00:00', 99.99, null);
insert into orders values (106, 1, null, 1.00, 'never placed');
insert into products values ('P-1', 'Anvil', 60.25);
insert into products values ('P,2 50%', 'Rocket', 80.00);
insert into order_lines values (101, 1, 'P,2 50%', 1);
insert into order_lines values (101, 2, 'P,2 50%', 1);
insert into order_lines values (101, 3, 'P-1', 1);
insert into order_lines values (102, 1, 'P,2 50%', 1);
insert into invoices values ('INV-789', 101, '2024-01-01', 120.50);
insert into invoices values ('INV-790', 102, '2024-01-31', 80.00);
insert into payments values (9001, 'INV-789', '2024-01-10 09:30:00{offset}', 120.50);
insert into people values ('DE', '1,2', 'Ada', 'Lind', null, null);
insert into people values ('DE', '7', 'Bo', 'Berg', 'DE', '1,2');
insert into people values ('SE', '7', 'Cy', null, 'DE', '1,2');
insert into people values (null, '9', 'Di', 'Dahl', null, null);
insert into people values ('', '9', 'Ed', 'Ek', null, null);
"""

ONTOLOGY = """
entities:
  customer:
    table: customers
    key: id
    name: name
    aliases: [code, email]
    hide: [password_hash]
    relations:
      orders: {to: order, join: id = customer_id}
  order:
    table: {schema}orders
    key: id
    aliases: id
    time: placed_at
    relations:
      customer: {to: customer, join: customer_id = id, cardinality: one}
      invoices: {to: invoice, join: id = order_id}
      lines: {to: line, join: id = order_id}
      products: {to: product, via: order_lines, join: id = order_id, then: sku = sku}
  invoice:
    table: invoices
    key: number
    aliases: number
    time: issued_on
    relations:
      payments: {to: payment, join: number = invoice}
  payment: {table: payments, key: id, time: paid_at}
  product: {table: products, key: sku, name: title, columns: [sku, title]}
  line: {table: order_lines, key: [order_id, line_no]}
  person:
    table: people
    key: [country, tax no]
    name: [first_name, last_name]
    relations:
      boss: {to: person, join: [boss_country = country, boss_no = tax no], cardinality: one}
      reports: {to: person, join: [country = boss_country, tax no = boss_no]}
"""


def ontology_values(schema: str = "") -> Any:
    return yaml.safe_load(ONTOLOGY.replace("{schema}", schema))


def statements(*, postgres: bool) -> list[str]:
    words = {
        "{bytes}": "bytea" if postgres else "blob",
        "{blob}": r"'\x00ff'" if postgres else "x'00ff'",
        "{moment}": "timestamptz" if postgres else "text",
        "{offset}": "+00" if postgres else "+00:00",
    }
    text = STATEMENTS
    for word, meant in words.items():
        text = text.replace(word, meant)
    return [line for line in text.splitlines() if line]


def sqlite_shop(folder: Path) -> str:
    """The URL of a fresh file."""
    path = folder / "shop.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements(postgres=False):
            connection.execute(statement)
    return f"sqlite:///{path}"


def ask(url: str, question: Callable[[DomainDatabase], Awaitable[R]], *, values: Any = None, **settings: Any) -> R:
    """What a domain database answers."""

    async def ask() -> R:
        domain = DomainDatabase(DomainSettings(url=url, ontology="shop.yaml", **settings), ontology(values or ontology_values()))
        try:
            return await question(domain)
        finally:
            await domain.close()

    return asyncio.run(ask())
