# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# shellcheck disable=SC2016,SC2154 # Markdown and awk in quotes; tests/bench/field sets the variables
# The tables and the page of tests/bench/field. A table is made from the files $work/PART.VARIANT, which have a line per
# round: four numbers of the variant, then those of the base round next to it.

# label VARIANT: its name in the tables.
label()
{
	local none=${exact[*]:+ ${exact[*]}}

	case $1 in
	again) echo 'nothing (noise)' ;;
	empty) echo 'empty programs on both hooks' ;;
	floor) echo '*floor*: programs that read the clock' ;;
	sched) echo '`gapless record --level sched'"$none"'`' ;;
	ledger) echo '`gapless record --no-stacks --signals none'"$none"'`' ;;
	unlimited) echo '`gapless record'"$none"'`' ;;
	default) echo '**`gapless record`**' ;;
	whole) echo '`gapless record -a`' ;;
	all) echo '`gapless record --signals all'"$none"'`' ;;
	perf_record) echo '`perf record -g -F 99`' ;;
	perf_trace) echo '`perf trace -s`' ;;
	bpftrace) echo 'bpftrace: histogram of each syscall' ;;
	strace) echo '`strace -c -f`' ;;
	esac
}

# figure FILE EXPRESSION [DECIMALS]: the median over the rounds, with the smallest and the largest.
figure()
{
	awk "{ print $2 }" "$1" | decimals=${3:-2} median
}

# middle FILE EXPRESSION: the median only.
middle()
{
	figure "$1" "$2" 6 | cut -d ' ' -f 1
}

# own_cost FILE: the cost of the hooks by the recording, divided by the measured one. A slow-down of less than 2 % is too
# small to compare.
own_cost()
{
	awk -v more="$(middle "$1" '$1 - $5')" -v base="$(middle "$1" '$5')" -v own="$(middle "$1" '$3')" -v any="$(head -n 1 "$1")" '
		BEGIN { split(any, f, " "); if (f[3] == "-" || more < base / 50) print "–"; else printf "%.2f\n", own / more }'
}

# skipped VARIANT COLUMNS: if it was not measured, prints a row with the reason and COLUMNS empty cells.
skipped()
{
	local i

	[[ ! -s $work/$part.$1 ]] || return
	printf '| %s | not measured: %s |' "$(label "$1")" "$(cat "$work/$part.$1.why" 2>/dev/null || echo 'no round')"
	for ((i = 1; i < $2; i++)); do printf ' |'; done
	echo
}

# made: when and how a table was made.
made()
{
	printf '\n%s rounds%s, %s%s.\n' "$rounds" "$1" "$(date +%F)" "${2-}"
}

skip_part()
{
	printf 'Not measured: %s.\n' "$1" | tee "$results/$part.md"
}

# goal PART VARIANT: the limit, in the unit of the table.
goal()
{
	case $1.$2.${exact[*]} in
	syscall.ledger.*) echo '≤ 1.5 floors' ;;
	syscall.unlimited.* | syscall.default.) echo '≤ 1.8 floors' ;;
	syscall.all.*) echo '≤ 2.2 floors' ;;
	syscall.default.*) echo '≤ 75 ns' ;;
	pingpong.sched.*) echo '≤ 1.15' ;;
	nginx.sched.*) echo '≤ 1.03' ;;
	nginx.default.* | redis.default.* | postgres.default.*) echo '≤ 1.06' ;;
	esac
}

table_syscall()
{
	local variant file

	{
		echo '| recorded with | ns over nothing | floors | goal | own cost ÷ measured |'
		echo '| --- | --- | --- | --- | --- |'
		for variant in again empty floor ledger unlimited all default; do
			skipped "$variant" 4 && continue
			file=$work/syscall.$variant
			printf '| %s | %s | %s | %s | %s |\n' "$(label "$variant")" "$(figure "$file" '$1 - $5' 0)" \
				"$(paste "$file" "$work/syscall.floor" | awk '$9 > $13 { print ($1 - $5) / ($9 - $13) }' | median)" \
				"$(goal syscall "$variant")" "$(own_cost "$file")"
		done
		made " of $turns calls" "; without recording, a call takes $(figure "$work/syscall.again" '$5' 0) ns"
	} | tee "$results/syscall.md"
}

# table_loop VARIANT…: of a loop whose turns are more than one call.
table_loop()
{
	local variant file

	{
		echo '| recorded with | CPU time of a turn, × nothing | ns over nothing | goal | own cost ÷ measured |'
		echo '| --- | --- | --- | --- | --- |'
		for variant in "$@"; do
			skipped "$variant" 4 && continue
			file=$work/$part.$variant
			printf '| %s | %s | %s | %s | %s |\n' "$(label "$variant")" "$(figure "$file" '$1 / $5')" \
				"$(figure "$file" '$1 - $5' 0)" "$(goal "$part" "$variant")" "$(own_cost "$file")"
		done
		made " of $turns turns" "; without recording, a turn takes $(figure "$work/$part.again" '$5' 0) ns"
	} | tee "$results/$part.md"
}

# within FILE: the number of rounds within the default budget, and of all rounds.
within()
{
	awk '$1 / $5 <= 1.06 { n++ } END { printf "%d of %d", n, NR }' "$1"
}

table_server()
{
	local variant file

	{
		echo '| recorded with | CPU time of an operation, × nothing | throughput, × nothing | goal | rounds ≤ 1.06 | own cost ÷ measured |'
		echo '| --- | --- | --- | --- | --- | --- |'
		for variant in again sched default whole unlimited ledger all perf_record bpftrace perf_trace strace; do
			skipped "$variant" 5 && continue
			file=$work/$part.$variant
			printf '| %s | %s | %s | %s | %s | %s |\n' "$(label "$variant")" "$(figure "$file" '$1 / $5' 3)" \
				"$(figure "$file" '$2 / $6')" "$(goal "$part" "$variant")" "$(within "$file")" "$(own_cost "$file")"
		done
		made " of $seconds s; some rows have fewer" "; without recording, an operation takes \
$(figure "$work/$part.again" '$5 / 1000' 1) µs of CPU, and there are $(figure "$work/$part.again" '$6' 0) a second"
	} | tee "$results/$part.md"
}

head_half()
{
	echo '| server | operations a second | without | with | p99 in µs, without | with | % of one CPU, without | with | points more | own cost ÷ measured |'
	echo '| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |'
}

row_half()
{
	local file=$work/$part.default

	skipped default 9 && return
	printf '| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n' "$name" "$half_rate" "$(figure "$file" '$6' 0)" "$(figure "$file" '$2' 0)" \
		"$(figure "$file" '$8' 0)" "$(figure "$file" '$4' 0)" "$(figure "$file" '$5' 1)" "$(figure "$file" '$1' 1)" \
		"$(figure "$file" '$1 - $5' 1)" "$(own_cost "$file")"
}

# versions: one line per tool that the page compares with.
versions()
{
	"$gapless" --version | head -n 1
	nginx -v 2>&1 | sed 's/.*: //'
	redis-server --version | awk '{ print "redis", $3 }'
	postgres --version
	perf --version
	bpftrace --version
	strace --version | sed -n '1s/-- version //p'
}

section()
{
	if [[ -s $results/$1.md ]]; then
		cat "$results/$1.md"
	else
		echo 'Not measured.'
	fi
}

write_page()
{
	cat <<PAGE
# What recording costs

*This page is made by \`tests/bench/field\`. Do not edit it; run the script again.*

Made on $(date +%F), on $(nproc) CPUs ($(lscpu | sed -n 's/^Model name: *//p' | head -n 1)$(systemd-detect-virt -q 2>/dev/null && echo ', virtual')), Linux $(uname -r).
Programs: $(versions 2>/dev/null | paste -s -d , | sed 's/,/, /g').

Each figure is the median over the rounds, with the smallest and the largest in brackets. Rounds are interleaved: nothing, A,
B, nothing, C, D, nothing … A measured round is compared only with the round without recording next to it. The row *nothing
(noise)* compares two rounds without recording: differences of that size mean nothing. Servers run on CPU 0 and their clients on CPU 1.

The CPU time of an operation is that of the server's threads, divided by the number of operations. It includes the hooks, which run in those
threads. It does not include the recorder itself, a process of its own.

*Own cost ÷ measured* compares what the recording says that its hooks cost with the measured slow-down: 1 is exact, 0.8 to 1.2 is
the goal. It is left out where the slow-down is less than 2 %, and with \`-a\`, whose own cost includes the hooks of all threads of the machine.
$([[ $lead_in == 0 ]] || printf '\n%s s of load precede each measured round.\n' "$lead_in")$(
		[[ ${exact[*]} ]] || printf '\nThis build has no `--budget`: its default recording is what `--budget none` will be.\n'
	)

## A syscall

A loop of \`getppid\`, the cheapest syscall, shows what two hooks cost. The *floor* is what any tool with exact durations
pays: the two hooks read the clock and do nothing else.

$(section syscall)

## The syscalls of a request

One thread makes the syscalls of nginx that serves a file and the two of its client, over a loopback connection, without ever
waiting: eight syscalls and four packets a turn. Here it shows what limits the cost of recording a server. *Empty
programs* is what the kernel takes to call the hooks, whatever they do. As long as every call is counted, no recording of
syscalls costs less.

$(section request)

## A context switch

Two processes on one CPU wake each other through pipes. A turn is two context switches, two wakeups and four syscalls.

$(section pingpong)

## nginx

One worker sends a file of 600 bytes to wrk over 16 connections: six or seven syscalls a request.

$(section nginx)

## Redis

\`redis-benchmark -P 1 -c 16 -t get,set\`: one command per request, so the server does little but syscalls.

$(section redis)

## PostgreSQL

\`pgbench -S -c 4\`: one SELECT by primary key per transaction. perf trace has \`-C 0\` here, because \`-p\` does not follow the new
backends.

$(section postgres)

## At half load

A server in production is rarely saturated. Here the clients send half of what the server can do, at a fixed rate, with and without
\`gapless record\`. A latency begins when its operation was due, not when it was sent. The CPU can be busier than half: a
server that is not saturated sleeps between operations, and each wakeup costs. For the same reason the points can be fewer than the
cost of the hooks: a server that takes longer sleeps less often.

$(section half)

## Make this page again

\`\`\`sh
apt-get install nginx wrk redis-server redis-tools postgresql linux-perf bpftrace strace
sudo tests/bench/field build --write docs/cost.md
\`\`\`

This takes about 25 minutes; nothing else may run. \`ROUNDS=10\` and \`SECONDS_EACH=3\` can be set.
With \`--results DIR\`, parts can be run one by one: \`tests/bench/field build --results DIR nginx\`.
PAGE
}
