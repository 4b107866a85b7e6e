# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# shellcheck disable=SC2154 # the caller sets gapless, rounds, seconds and work
# Functions that the benchmarks share. Base and measured rounds alternate; see tests/bench/ledger.

# median: reads numbers from stdin, one per line, and prints "median (smallest–largest)", with $decimals decimals.
median()
{
	sort -g | awk -v form="%.${decimals:-2}f" '
		function show(x) { x = sprintf(form, x); return x + 0 ? x : substr(x, index(x, "0")) } # not -0
		{ v[NR] = $1 }
		END { printf NR ? show((v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2) " (" show(v[1]) "–" show(v[NR]) ")" : "-" }'
}

# report_loop NAME UNIT VARIANT…: prints the table of one loop, from $work/NAME.VARIANT.
report_loop()
{
	local name=$1 unit=$2 variant
	shift 2

	printf '\n%s: %s rounds, median (smallest–largest)\n' "$name" "$rounds"
	for variant in "$@"; do
		printf '  %-6s %26s %s   × base %s   + base %s   × least of base %s\n' \
			"$variant" "$(median <"$work/$name.$variant")" "$unit" \
			"$(paste "$work/$name.$variant" "$work/$name.base" | awk '$2 > 0 { print $1 / $2 }' | median)" \
			"$(paste "$work/$name.$variant" "$work/$name.base" | awk '{ print $1 - $2 }' | median)" \
			"$(paste <(sort -g "$work/$name.$variant" | head -n 1) <(sort -g "$work/$name.base" | head -n 1) |
				awk '$2 > 0 { printf "%.2f", $1 / $2 }')"
	done
}

# start_recording ARGUMENT…: starts a recording in the background and returns when it records. $recorder is its pid. It
# has no signals, unless $signals names some.
start_recording()
{
	: >"$work/err"
	"$gapless" record --signals "${signals:-none}" --no-report --force -o "$work/run" "$@" 2>"$work/err" &
	recorder=$!
	until grep -q recording "$work/err"; do
		kill -0 "$recorder" 2>/dev/null || { cat "$work/err" >&2; exit 1; }
		sleep 0.01
	done
}

# SIGTERM, because background processes of bash ignore SIGINT.
stop_recording()
{
	kill -TERM "$recorder"
	wait "$recorder"
}

# cpu_ns PID: the CPU time of a thread, by the scheduler's clock.
cpu_ns()
{
	local ns _

	read -r ns _ <"/proc/$1/schedstat" && echo "$ns"
}

# Starts nginx with one worker on CPU 0; $server and $worker are their pids. $location says how it answers.
start_nginx()
{
	mkdir -p "$work/nginx/logs"
	printf '%s\n' 'worker_processes 1; worker_cpu_affinity 01; error_log stderr crit; pid logs/pid;' \
		'events { worker_connections 512; }' \
		"http { access_log off; server { listen 127.0.0.1:18080; location / { ${location:-return 200 \"hello\n\";} } } }" \
		>"$work/nginx/conf"
	nginx -p "$work/nginx" -c conf -g 'daemon off;' 2>"$work/nginx/err" &
	server=$!
	until worker=$(pgrep -P "$server" nginx); do
		kill -0 "$server" 2>/dev/null || { cat "$work/nginx/err" >&2; exit 1; }
		sleep 0.05
	done
}

# cpu_of_a_request [ARGUMENT…]: nginx's CPU time per request in microseconds. If there are arguments, nginx is recorded
# with them.
cpu_of_a_request()
{
	local before after requests

	[[ $# -eq 0 ]] || start_recording -p "$worker" "$@"
	before=$(cpu_ns "$worker")
	requests=$(taskset -c 1 wrk -t 1 -c 16 -d "$seconds" http://127.0.0.1:18080/ | awk '/requests in/ { print $1 }')
	after=$(cpu_ns "$worker")
	[[ $# -eq 0 ]] || stop_recording
	awk -v ns=$((after - before)) -v requests="$requests" 'BEGIN { if (requests) print ns / requests / 1000 }'
}
