# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# For the makers of tests/exam: a maker sources this, defines start (and stop, if ending its processes is not enough)
# and ends with `maker "$@"`. README.md explains it. Standard output is for the runner, standard error for people.
set -u

case_folder=$(dirname "$(readlink -f "$0")")
exam_folder=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
case_name=${case_folder##*/}
row=${case_name%%-*}
work=${EXAM_WORK:-${TMPDIR:-/tmp}/gapless-exam/row$row}
# shellcheck disable=SC2034 # for makers
python=/usr/bin/python3
# shellcheck disable=SC2034
port=$((19000 + 10#${row%b}))
spawned=

# skip REASON: the situation cannot be made here.
skip()
{
	echo "SKIP=$*"
	stop >&2
	exit 0
}

fail()
{
	echo "$case_name: $*" >&2
	stop >&2
	exit 1
}

# need PROGRAM…: skips the row if one of them is missing.
need()
{
	local program

	for program; do
		command -v "$program" >/dev/null || skip "$program is not installed"
	done
}

# start_time PID: together with the pid, it tells a process from a later one.
start_time()
{
	sed 's/^.*) //' "/proc/$1/stat" 2>/dev/null | cut -d' ' -f20
}

# remember PID: stop_all ends it too.
remember()
{
	echo "$1 $(start_time "$1")" >>pids
}

# spawn NAME COMMAND…: starts a process in the background, with its output in NAME.log and its pid in $spawned.
spawn()
{
	local name=$1
	shift

	setsid "$@" >"$name.log" 2>&1 </dev/null &
	spawned=$!
	# setsid and the program after it have the pid and the start time of the shell that made them.
	remember "$spawned"
}

# stop_one PID START: SIGTERM, after 3 s SIGKILL, until the process has ended.
stop_one()
{
	local tries

	for ((tries = 0; tries < 200; tries++)); do
		[[ $2 && $(start_time "$1") == "$2" ]] || return 0
		[[ $(sed 's/^.*) //; s/ .*//' "/proc/$1/stat" 2>/dev/null) != Z ]] || return 0
		[[ $tries -ne 0 ]] || kill -TERM "$1" 2>/dev/null
		[[ $tries -ne 60 ]] || kill -KILL "$1" 2>/dev/null
		sleep 0.05
	done
}

# stop_all: ends every process that was spawned or remembered, the latest one first.
stop_all()
{
	local pid start

	[[ -f pids ]] || return 0
	while read -r pid start; do
		stop_one "$pid" "$start"
	done < <(tac pids)
	rm -f pids
}

stop()
{
	stop_all
}

# await SECONDS WHAT COMMAND…: tries the command until it succeeds.
await()
{
	local end=$((SECONDS + $1)) what=$2
	shift 2

	until "$@" >/dev/null 2>&1; do
		[[ $SECONDS -le $end ]] || fail "$what did not happen"
		sleep 0.05
	done
}

is_open()
{
	(exec 3<>"/dev/tcp/127.0.0.1/$1")
}

await_port()
{
	await 20 "port $1" is_open "$1"
}

# await_log NAME REGEX: until NAME.log has a line that matches; the makers' programs print what really happens.
await_log()
{
	await 30 "'$2' in $1.log" grep -Eq -- "$2" "$1.log"
	grep -E -- "$2" "$1.log" | tail -n 1 >&2
}

# compile NAME FLAG…: NAME.c of the case, or of all cases, into the work folder.
compile()
{
	local name=$1 source=$case_folder/$1.c
	shift

	[[ -f $source ]] || source=$exam_folder/$name.c
	need gcc
	gcc -O2 -g -Wall -I "$exam_folder" -o "$name" "$source" "$@" >&2 || fail "$name.c does not compile"
}

# bring FILE…: copies files of the case into the work folder, whose path does not tell what is wrong.
bring()
{
	local file

	for file; do
		cp "$case_folder/$file" . || fail "no $file"
	done
}

# make_cgroup CONTROLLER NAME KEY VALUE…: makes a cgroup with these settings, its folder in $cgroup. Version 1 only,
# other machines skip. `spawn NAME "${inside[@]}" COMMAND…` runs a command in it.
make_cgroup()
{
	cgroup=/sys/fs/cgroup/$1/$2
	[[ -d /sys/fs/cgroup/$1 ]] || skip "no cgroup hierarchy of version 1 for $1"
	mkdir -p "$cgroup" || skip "no cgroup can be made in /sys/fs/cgroup/$1"
	shift 2
	while [[ $# -ge 2 ]]; do
		echo "$2" >"$cgroup/$1" || skip "$cgroup/$1 refuses '$2'"
		shift 2
	done
	# shellcheck disable=SC2016,SC2034
	inside=(bash -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$cgroup")
}

# remove_cgroup CONTROLLER NAME
remove_cgroup()
{
	local cgroup=/sys/fs/cgroup/$1/$2 tries

	for ((tries = 0; tries < 40; tries++)); do
		[[ -d $cgroup ]] || return 0
		rmdir "$cgroup" 2>/dev/null && return 0
		sleep 0.05
	done
	echo "$cgroup is still in use" >&2
}

# idle_pools: 200 threads in 8 programs that wait for work, each in a way of its own.
idle_pools()
{
	local name

	compile idle -pthread
	for name in authd cached indexd mailerd metricd pushd queued sessiond; do
		cp idle "$name"
		spawn "$name" "./$name" 25
	done
	await_log sessiond 'waiting'
}

maker()
{
	mkdir -p "$work" && chmod 755 "$work" && cd "$work" || exit 1
	case ${1-} in
	start)
		stop_all
		start
		;;
	stop) stop ;;
	*)
		echo "usage: $0 start|stop" >&2
		exit 2
		;;
	esac
}
