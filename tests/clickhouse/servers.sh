# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Servers for tests/clickhouse/run, all on 127.0.0.1 and below $work: ClickHouse 18.16 (Debian), ZooKeeper, and today's
# engine (chDB) behind shim.mjs. Each has a pid in pids[NAME].

: "${work:?}"
declare -A pids=() urls=()
curl_options=()
# Twenty ports, so that two runs do not meet: 1 and 2 for HTTP, 11 and 12 for TCP, 6 and 7 between servers.
ports=${STORE_PORTS-$((20000 + $$ % 600 * 20))}
zookeeper_port=$((ports + 9))

# wait_for SECONDS COMMAND…
wait_for()
{
	local tries=$(($1 * 10))
	shift

	until "$@" >/dev/null 2>&1; do
		((tries-- > 0)) || return 1
		sleep 0.1
	done
}

# ask NAME SQL
ask()
{
	curl -sS --max-time 60 "${curl_options[@]}" "${urls[$1]}/" --data-binary "$2"
}

answers()
{
	[[ $(ask "$1" 'SELECT 1') == 1 ]]
}

# node_config N: a server of 18.16.
node_config()
{
	local folder=$work/node$1 n=$1

	mkdir -p "$folder"/{data,tmp,log}
	cat >"$folder/config.xml" <<-X
		<yandex>
		  <logger><level>warning</level><log>$folder/log/server.log</log><errorlog>$folder/log/error.log</errorlog></logger>
		  <listen_host>127.0.0.1</listen_host>
		  <http_port>$((ports + n))</http_port><tcp_port>$((ports + 10 + n))</tcp_port>
		  <interserver_http_port>$((ports + 5 + n))</interserver_http_port><interserver_http_host>127.0.0.1</interserver_http_host>
		  <path>$folder/data/</path><tmp_path>$folder/tmp/</tmp_path>
		  <users_config>users.xml</users_config><default_profile>default</default_profile>
		  <default_database>default</default_database><timezone>UTC</timezone>
		  <mark_cache_size>67108864</mark_cache_size><keep_alive_timeout>3</keep_alive_timeout>
		  <remote_servers><fleet><shard><internal_replication>true</internal_replication>
		    <replica><host>127.0.0.1</host><port>$((ports + 11))</port></replica>
		    <replica><host>127.0.0.1</host><port>$((ports + 12))</port></replica>
		  </shard></fleet></remote_servers>
		  <zookeeper><node index="1"><host>127.0.0.1</host><port>$zookeeper_port</port></node></zookeeper>
		  <distributed_ddl><path>/clickhouse/task_queue/ddl</path></distributed_ddl>
		  <macros><shard>01</shard><replica>r$n</replica></macros>
		</yandex>
	X
	cat >"$folder/users.xml" <<-X
		<yandex>
		  <profiles><default><max_threads>2</max_threads><log_queries>0</log_queries>
		    <allow_experimental_low_cardinality_type>1</allow_experimental_low_cardinality_type></default></profiles>
		  <users><default><password></password><networks><ip>127.0.0.1</ip></networks>
		    <profile>default</profile><quota>default</quota></default></users>
		  <quotas><default></default></quotas>
		</yandex>
	X
}

start_node()
{
	[[ -d $work/node$1 ]] || node_config "$1"
	urls[node$1]=http://127.0.0.1:$((ports + $1))
	setsid clickhouse-server --config-file="$work/node$1/config.xml" >"$work/node$1/log/stdout" 2>&1 &
	pids[node$1]=$!
	wait_for 60 answers "node$1"
}

# The port is open before sessions can be made, and 18.16 dies without a session.
zookeeper_serves()
{
	local line

	exec 3<>"/dev/tcp/127.0.0.1/$zookeeper_port" && echo srvr >&3 || return
	while read -r -t 2 line <&3; do
		[[ $line != Mode:* ]] || break
	done
	exec 3>&-
	[[ $line == Mode:* ]]
}

start_zookeeper()
{
	mkdir -p "$work/zookeeper"
	printf '%s\n' "tickTime=2000" "dataDir=$work/zookeeper" "clientPort=$zookeeper_port" \
		"clientPortAddress=127.0.0.1" "admin.enableServer=false" "4lw.commands.whitelist=srvr" >"$work/zookeeper.cfg"
	setsid java -cp '/etc/zookeeper/conf:/usr/share/java/*' org.apache.zookeeper.server.quorum.QuorumPeerMain \
		"$work/zookeeper.cfg" >"$work/zookeeper.log" 2>&1 &
	pids[zookeeper]=$!
	wait_for 60 zookeeper_serves
}

# start_shim [KEY CERTIFICATE]: with TLS, on another port.
start_shim()
{
	local name=shim port=$((ports + 8)) scheme=http

	[[ $# -eq 0 ]] || { name=tls port=$((ports + 3)) scheme=https; }
	urls[$name]=$scheme://127.0.0.1:$port
	rm -f "$work/$name.log"
	(cd "$work/npm" && exec setsid node shim.mjs "$port" "$work/$name" "$@") >"$work/$name.log" 2>&1 &
	pids[$name]=$!
	wait_for 60 grep -q ready "$work/$name.log"
}

# stop NAME SIGNAL: and waits until it has ended.
stop()
{
	[[ ${pids[$1]-} ]] || return 0
	kill "-$2" "${pids[$1]}" 2>/dev/null
	wait "${pids[$1]}" 2>/dev/null
	unset "pids[$1]"
}

stop_all()
{
	local name

	for name in "${!pids[@]}"; do
		stop "$name" KILL
	done
}

# to_18: the schema as 18.16 understands it: no codecs, expiry, maps, settings, views that refresh. That version does not
# convert String to LowCardinality either when it reads a Native block.
to_18()
{
	sed -E '/^CREATE MATERIALIZED VIEW/,/;$/d; /histograms/,/;$/d; s/ ?CODEC\([^()]*(\([^()]*\)[^()]*)*\)//g' |
		sed -E 's/^TTL .*DAY;?$/-- ;/; s/^SETTINGS .*$/-- ;/; /Map\(/d; s/LowCardinality\(String\)/String/g' |
		awk '/^-- ;/ { if (!ended) print ";"; ended = 1; next } { ended = /;$/; print }'
}

# apply NAME: runs the statements on stdin, one by one.
apply()
{
	local statement error

	while IFS= read -r -d ';' statement; do
		statement=$(grep -v '^--' <<<"$statement")
		[[ ${statement//[[:space:]]/} ]] || continue
		error=$(ask "$1" "$statement" 2>&1) || { echo "# $error"; return 1; }
		[[ $error != *Exception* ]] || { echo "# $error" | head -c 600; return 1; }
	done
}
