/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "disks.h"

#include "../harness.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/dm-ioctl.h>
#include <linux/loop.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "live.h"

#define TABLE_BYTES 4096
#define CONTROL     "/dev/mapper/control"

static int attach(int control, int file, char *ret, size_t size)
{
	/* Another test may take the same one first. */
	for (int tries = 0; tries < 20; tries++) {
		int number = ioctl(control, LOOP_CTL_GET_FREE), device;

		assert_true(number >= 0);
		snprintf(ret, size, "/dev/loop%d", number);
		device = open(ret, O_RDWR | O_CLOEXEC);
		if (device < 0) { /* nobody makes nodes here */
			mknod(ret, S_IFBLK | 0600, makedev(7, number));
			device = open(ret, O_RDWR | O_CLOEXEC);
		}
		assert_true(device >= 0);
		if (!ioctl(device, LOOP_SET_FD, file))
			return device;
		assert_int_equal(errno, EBUSY);
		close(device);
	}
	fail_msg("no free loop device");
	return -1;
}

struct loop loop__new(uint64_t bytes)
{
	const char *dir = getenv("TMPDIR");
	int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC), file;
	struct loop loop;

	assert_true(control >= 0);
	snprintf(loop.file, sizeof(loop.file), "%s/gapless-loop-XXXXXX", dir ? dir : "/var/tmp");
	file = mkostemp(loop.file, O_CLOEXEC);
	assert_true(file >= 0);
	assert_int_equal(posix_fallocate(file, 0, (off_t)bytes), 0);
	close(attach(control, file, loop.device, sizeof(loop.device)));
	close(file);
	close(control);
	queue_setting(loop.device, "max_sectors_kb", loop.max_sectors_kb,
		      sizeof(loop.max_sectors_kb));
	queue_setting(loop.device, "nomerges", loop.nomerges, sizeof(loop.nomerges));
	return loop;
}

void loop__cut(const struct loop *loop, uint64_t bytes)
{
	assert_int_equal(truncate(loop->file, (off_t)bytes), 0);
}

void loop__free(struct loop *loop)
{
	int device = loop->device[0] ? open(loop->device, O_RDWR | O_CLOEXEC) : -1;

	if (device >= 0) {
		set_queue(loop->device, "max_sectors_kb", loop->max_sectors_kb);
		set_queue(loop->device, "nomerges", loop->nomerges);
		ioctl(device, LOOP_CLR_FD, 0);
		close(device);
		unlink(loop->file);
	}
	loop->device[0] = '\0';
}

#define ZRAM_CONTROL "/sys/class/zram-control/"

bool zram__new(const char *size, char *ret, size_t ret_size)
{
	FILE *file = fopen(ZRAM_CONTROL "hot_add", "re"); /* reading makes one */
	char path[64];
	int number;

	if (!file)
		return false;
	assert_int_equal(fscanf(file, "%d", &number), 1);
	fclose(file);
	snprintf(ret, ret_size, "/dev/zram%d", number);
	snprintf(path, sizeof(path), "/sys/block/zram%d/disksize", number);
	file = fopen(path, "we");
	assert_non_null(file);
	fputs(size, file);
	assert_int_equal(fclose(file), 0);
	return true;
}

void zram__free(char *device)
{
	FILE *file = device[0] ? fopen(ZRAM_CONTROL "hot_remove", "we") : NULL;

	if (!file)
		return;
	fputs(device + strlen("/dev/zram"), file);
	fclose(file);
	device[0] = '\0';
}

bool dm__exists(void)
{
	int fd = open(CONTROL, O_RDWR | O_CLOEXEC);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static int call(unsigned long request, struct dm_ioctl *head)
{
	int fd = open(CONTROL, O_RDWR | O_CLOEXEC), err;

	head->version[0] = DM_VERSION_MAJOR;
	head->data_size = TABLE_BYTES;
	head->data_start = sizeof(*head);
	err = fd < 0 || ioctl(fd, request, head) ? -errno : 0;
	close(fd);
	return err;
}

static void add_line(struct dm_ioctl *head, size_t *used, const struct dm_line *line)
{
	struct dm_target_spec *target = (void *)((char *)head + *used);
	size_t size = sizeof(*target) + (strlen(line->parameters) + 8) / 8 * 8;

	assert_true(*used + size < TABLE_BYTES);
	*target = (struct dm_target_spec) { .sector_start = line->start,
					    .length = line->sectors,
					    .next = (uint32_t)size };
	snprintf(target->target_type, sizeof(target->target_type), "%s", line->target);
	strcpy((char *)(target + 1), line->parameters);
	*used += size;
}

void dm__new(const char *name, const struct dm_line *lines, size_t count, char *ret, size_t size)
{
	_Alignas(8) char buffer[TABLE_BYTES] = {};
	struct dm_ioctl *head = (void *)buffer;
	size_t used = sizeof(*head);

	snprintf(head->name, sizeof(head->name), "%s", name);
	assert_int_equal(call(DM_DEV_CREATE, head), 0);
	for (size_t i = 0; i < count; i++)
		add_line(head, &used, &lines[i]);
	head->target_count = (uint32_t)count;
	head->flags = 0;
	head->dev = 0; /* a device is named or numbered, not both */
	assert_int_equal(call(DM_TABLE_LOAD, head), 0);
	head->flags = 0; /* not suspended, so it resumes */
	head->dev = 0;
	assert_int_equal(call(DM_DEV_SUSPEND, head), 0);
	snprintf(ret, size, "/dev/dm-%u", minor(head->dev));
	if (access(ret, F_OK))
		mknod(ret, S_IFBLK | 0600, (dev_t)head->dev);
}

void dm__free(const char *name)
{
	_Alignas(8) char buffer[TABLE_BYTES] = {};
	struct dm_ioctl *head = (void *)buffer;

	snprintf(head->name, sizeof(head->name), "%s", name);
	call(DM_DEV_REMOVE, head);
}

const char *device_name(const char *path)
{
	return strrchr(path, '/') + 1;
}

static FILE *open_setting(const char *path, const char *what, const char *mode)
{
	char name[128];

	snprintf(name, sizeof(name), "/sys/block/%s/queue/%s", device_name(path), what);
	return fopen(name, mode);
}

void queue_setting(const char *path, const char *what, char *ret, size_t size)
{
	FILE *file = open_setting(path, what, "re");

	assert_non_null(file);
	assert_non_null(fgets(ret, (int)size, file));
	ret[strcspn(ret, "\n")] = '\0';
	fclose(file);
}

void set_queue(const char *path, const char *what, const char *value)
{
	FILE *file = open_setting(path, what, "we");

	assert_non_null(file);
	fputs(value, file);
	assert_int_equal(fclose(file), 0);
}

static char disk_folder[64];

const char *disk_folder__new(void)
{
	snprintf(disk_folder, sizeof(disk_folder), "%s/gapless-test-XXXXXX",
		 is_emulated() ? "/tmp" : "/var/tmp");
	if (!mkdtemp(disk_folder))
		fail_msg("'%s': %s", disk_folder, strerror(errno));
	if (is_emulated() && (system("mke2fs -F /dev/vda >/tmp/mke2fs 2>&1") ||
			      mount("/dev/vda", disk_folder, "ext4", 0, "")))
		fail_msg("no file system on /dev/vda: %s", strerror(errno));
	return disk_folder;
}

int disk_folder__free(void)
{
	if (is_emulated())
		umount(disk_folder);
	return rmdir(disk_folder);
}
