# SPDX-License-Identifier: GPL-2.0-or-later
# A shop's orders, for gunicorn. Logs a line for each request: path, milliseconds in all, and in the database.
import os
import threading
import time

import flask
import psycopg2

app = flask.Flask(__name__)
# All threads share one connection to the database; cured, each has its own.
shared = threading.local() if os.environ.get('SHOP_CURED') else type('Shared', (), {})()
log = open(os.environ.get('SHOP_LOG', '/dev/null'), 'a', buffering=1)


def query(text, *values):
    if not hasattr(shared, 'connection'):
        shared.connection = psycopg2.connect(os.environ['SHOP_DATABASE'])
        shared.connection.autocommit = True
    begin = time.monotonic()
    with shared.connection.cursor() as cursor:
        cursor.execute(text, values)
        rows = cursor.fetchall() if cursor.description else []
    flask.g.database += time.monotonic() - begin
    return rows


@app.before_request
def begin():
    flask.g.begin, flask.g.database = time.monotonic(), 0


@app.after_request
def end(response):
    took = time.monotonic() - flask.g.begin
    log.write(f'{flask.request.path} {took * 1000:.3f} {flask.g.database * 1000:.3f}\n')
    return response


@app.route('/orders/<int:number>')
def order(number):
    price = query('SELECT price FROM orders WHERE id = %s', number)[0][0]
    return f'order {number}: {price}\n'


# Invoices have to be safe on disk before they are sent.
@app.route('/orders/<int:number>/invoice')
def invoice(number):
    price = query('SELECT price FROM orders WHERE id = %s', number)[0][0]
    query('INSERT INTO invoices SELECT id, price, repeat(md5(id::text), 1000) FROM orders'
          ' WHERE id BETWEEN %s AND %s', number, number + 200)
    return f'invoice {number}: {price}\n'
