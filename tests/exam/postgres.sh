# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2154
# A PostgreSQL server for makers. initdb is slow: cases that one runner makes copy its result.

postgres_user=(setpriv --reuid=postgres --regid=postgres --clear-groups)

# start_postgres: starts a server on $port, its main process in $spawned; its WAL is in the folder $wal if that is set.
wal=
start_postgres()
{
	local programs fresh=${EXAM_SHARED:-$work}/postgres-fresh

	programs=$(printf '%s\n' /usr/lib/postgresql/*/bin | sort -V | tail -n 1)
	[[ -x $programs/postgres ]] || skip 'postgresql is not installed'
	if [[ ! -f $fresh/PG_VERSION ]]; then
		install -d -o postgres -g postgres -m 700 "$fresh"
		(cd / && "${postgres_user[@]}" "$programs/initdb" -D "$fresh" -A trust -N >&2) || fail 'initdb failed'
	fi
	cp -a "$fresh" postgres
	if [[ $wal ]]; then
		mv postgres/pg_wal "$wal/pg_wal"
		ln -s "$work/$wal/pg_wal" postgres/pg_wal
	fi
	spawn postgres "${postgres_user[@]}" "$programs/postgres" -D "$work/postgres" -p "$port" -c listen_addresses=127.0.0.1 \
		-c unix_socket_directories= -c shared_buffers=64MB -c autovacuum=off
	await 20 'a connection to PostgreSQL' sql 'SELECT 1'
}

# sql STATEMENT…: each in a transaction of its own.
sql()
{
	local statement words=()

	for statement; do
		words+=(-c "$statement")
	done
	psql -h 127.0.0.1 -p "$port" -U postgres -X -A -t -q -v ON_ERROR_STOP=1 "${words[@]}" postgres
}
