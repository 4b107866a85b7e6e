#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# serve.sh FOLDER [--cured]: runs a shop in FOLDER, which must not exist, until it is interrupted:
# nginx, gunicorn and PostgreSQL, on ports 18201, 18200 and 18202. FOLDER/log has what the shop
# measured itself.
set -eu
folder=$(readlink -f "$1")
[[ ${2-} != --cured ]] || export SHOP_CURED=1
here=$(dirname "$(readlink -f "$0")")
bin=$(dirname "$(find /usr/lib/postgresql -name initdb | sort -V | tail -1)")
pids=()
trap 'kill "${pids[@]}" 2>/dev/null; wait' EXIT

mkdir "$folder" "$folder/data"
chown postgres "$folder" "$folder/data"
as_postgres() { setpriv --reuid postgres --regid postgres --clear-groups "$@"; }
as_postgres "$bin/initdb" -D "$folder/data" -A trust >/dev/null
as_postgres "$bin/postgres" -D "$folder/data" -p 18202 -k "$folder" >"$folder/postgres.log" 2>&1 &
pids+=($!)
export SHOP_DATABASE="host=127.0.0.1 port=18202 user=postgres dbname=postgres" SHOP_LOG="$folder/log"
until psql -q -h "$folder" -p 18202 -U postgres -c '
	CREATE TABLE orders AS SELECT id, id % 97 AS price FROM generate_series(1, 20000) id;
	ALTER TABLE orders ADD PRIMARY KEY (id);
	CREATE TABLE invoices(id int, price int, text text);
	ALTER TABLE invoices ALTER text SET STORAGE EXTERNAL' 2>/dev/null; do
	sleep 0.2
done
: >"$SHOP_LOG"
gunicorn --chdir "$here" -b 127.0.0.1:18200 -w 2 --threads 4 shop:app >"$folder/gunicorn.log" 2>&1 &
pids+=($!)
cat >"$folder/nginx.conf" <<EOF
pid $folder/nginx.pid; error_log $folder/nginx.log; worker_processes 1; daemon off;
events {}
http {
	access_log off;
	upstream shop { server 127.0.0.1:18200; keepalive 16; }
	server {
		listen 127.0.0.1:18201;
		location / { proxy_pass http://shop; proxy_http_version 1.1; proxy_set_header Connection ""; }
	}
}
EOF
nginx -c "$folder/nginx.conf" &
pids+=($!)
wait
