# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# shellcheck disable=SC2154
# Profiles: a known minute is pushed to a receiver of pprof, whose files go's pprof must read, and to a Collector. Used by
# tests/otlp/run, which has its functions and variables. The numbers are those of tests/unit/otlp_minute.h.
minute_ns=5001723 minute_samples=8

# pprof_sums FOLDER: the values of all samples of all profiles, as go's pprof has them, and how many profiles there are.
pprof_sums()
{
	local file
	for file in "$1"/*.pb.gz; do
		go tool pprof -symbolize=none -raw "$file" || return
	done 2>/dev/null | awk '
		/^Samples:/ { reading = 1; next }
		/^Locations/ { reading = 0; profiles++ }
		reading && $2 ~ /^[0-9]+:$/ { n += $1; ns += $2 }
		END { printf "%d samples, %d ns, %d profiles\n", n, ns, profiles }'
}

check_pprof()
{
	local name="go's pprof reads the profiles, and their totals are equal" sums
	if ! go tool pprof -h 2>&1 | grep -q usage; then
		echo "ok - $name # SKIP no 'go tool pprof' [install golang-go]"
		return
	fi
	start pyroscope node "$here/pyroscope.mjs" "${1##*:}" "$work/pyroscope"
	wait_for answers "$1"
	"$build/tests/otlp/push_profiles" pprof "http://$1" >pprof.log 2>&1
	sums=$(pprof_sums "$work/pyroscope")
	if [[ $(<pprof.log) == ok && $sums == "$minute_samples samples, $minute_ns ns, 4 profiles" ]] &&
		go tool pprof -symbolize=none -raw pyroscope/cart.wait.pb.gz 2>/dev/null >raw.txt &&
		grep -q '\[kernel\] cc33' raw.txt && grep -q '/usr/bin/cart aa11' raw.txt && grep -q 'wait\.lock' raw.txt; then
		echo "ok - $name"
	else
		echo "# $sums"
		sed 's/^/# /' pprof.log pyroscope.log
		[[ ! -s raw.txt ]] || sed 's/^/# /' raw.txt
		echo "not ok - $name"
	fi
}

check_otlp_profiles()
{
	local name='the collector takes profiles, and shows their values' status sums
	if [[ ! -x $parts/collector ]]; then
		echo "ok - $name # SKIP not in '$parts'"
		return
	fi
	cat >profiles.yaml <<-EOF
		receivers: {otlp: {protocols: {http: {endpoint: "$1"}}}}
		exporters: {debug: {verbosity: detailed}}
		service:
		  telemetry: {metrics: {level: none}}
		  pipelines: {profiles: {receivers: [otlp], exporters: [debug]}}
	EOF
	start profiles "$parts/collector" --config "$work/profiles.yaml" --feature-gates=service.profilesSupport
	wait_for answers "$1"
	status=$(printf garbage | curl -s -o /dev/null -w '%{http_code}' -H 'Content-Type: application/x-protobuf' \
		--data-binary @- "http://$1/v1development/profiles")
	"$build/tests/otlp/push_profiles" otlp "http://$1" >otlp.log 2>&1
	wait_for grep -q 'Sample #2' profiles.log
	sums=$(awk '/Values: \[/ { gsub(/[][]/, "", $2); n++; ns += $2 } END { printf "%d samples, %d ns", n, ns }' profiles.log)
	if [[ $status == 400 && $(<otlp.log) == ok && $sums == "5 samples, $minute_ns ns" ]] &&
		grep -A3 'Values: \[5000000\]' profiles.log | tr -d '\n' | grep -q 'state: wait.*cause: lock' &&
		grep -q 'service.name: Str(cart)' profiles.log && grep -q 'k8s.namespace.name: Str(shop)' profiles.log; then
		echo "ok - $name"
	else
		echo "# garbage: $status; $sums"
		sed 's/^/# /' otlp.log profiles.log
		echo "not ok - $name"
	fi
}
