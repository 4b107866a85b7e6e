# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2154
# Slow disks for makers: a loop device over a FUSE file that delays. A maker that uses this has `stop_disks` in its
# stop, after its own processes have ended (`stop_all` ends the file system's server too, so it comes after stop_disks).

# slow_disk NAME MEGABYTES: mounts an ext4 file system at ./NAME, its device in $disk. It is fast until
# `set_delays NAME READ_US WRITE_US SYNC_US`.
slow_disk()
{
	local name=$1 flags

	need mkfs.ext4 losetup pkg-config
	[[ -c /dev/fuse ]] || skip 'no /dev/fuse'
	flags=$(pkg-config --cflags --libs fuse3) || skip 'libfuse3-dev is not installed'
	# shellcheck disable=SC2086 # several words
	[[ -x slowfile ]] || compile slowfile $flags -D_FILE_OFFSET_BITS=64
	truncate -s "$2M" "$name.image"
	mkdir -p "$name" "$name.fuse"
	set_delays "$name" 0 0 0
	setsid ./slowfile "$work/$name.fuse" "$work/$name.image" "$work/$name.delays" >"$name.log" 2>&1 </dev/null &
	echo "$! $(start_time "$!")" >"$name.server"
	await 10 "the file system $name.fuse" test -f "$name.fuse/disk"
	disk=$(losetup --show -f "$work/$name.fuse/disk") || skip 'no loop device is free'
	echo "$disk" >"$name.device"
	mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0,nodiscard "$disk" >&2 || fail "mkfs of $disk failed"
	mount "$disk" "$name" || fail "$disk cannot be mounted"
}

set_delays()
{
	echo "$2 $3 $4" >"$1.delays.new"
	mv "$1.delays.new" "$1.delays"
	[[ ! -s $1.device ]] || counts_of "$1" >"$1.counts"
}

# counts_of NAME: how many reads the device has had, and their milliseconds.
counts_of()
{
	local device

	device=$(<"$1.device")
	awk '{ print $1, $4 }' "/sys/block/${device#/dev/}/stat"
}

# has_slow_reads NAME: by the kernel, the device has taken 10 ms or more for an average read since its delays were set.
# The counts of a loop device go on where its last user left them, so only what they grew by counts.
has_slow_reads()
{
	counts_of "$1" | cat "$1.counts" - |
		awk 'NR == 1 { n = $1; ms = $2 } NR == 2 { exit !($1 - n > 20 && $2 - ms > 10 * ($1 - n)) }'
}

# stop_disks: unmounts and removes every slow disk of this case.
stop_disks()
{
	local name pid start

	for name in *.delays; do
		name=${name%.delays}
		[[ -f $name.delays ]] || continue
		set_delays "$name" 0 0 0
		umount "$name"
		[[ ! -s $name.device ]] || losetup -d "$(<"$name.device")"
		await 5 "the end of $name.fuse" umount "$name.fuse"
		read -r pid start <"$name.server" && stop_one "$pid" "$start"
		rm -rf "$name.image" "$name.device" "$name.delays" "$name.counts" "$name.server"
		rmdir "$name" "$name.fuse"
	done 2>/dev/null
}
