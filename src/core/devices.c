/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/devices.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

#define DEV_PREFIX  "/dev/"
#define PLACES_KEPT 64

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

int devices__disk(uint32_t dev, char *ret, size_t size)
{
	char path[64], target[256];
	ssize_t length;

	snprintf(ret, size, "%u:%u", DEVICES_MAJOR(dev), DEVICES_MINOR(dev));
	snprintf(path, sizeof(path), "/sys/dev/block/%s", ret);
	length = readlink(path, target, sizeof(target) - 1);
	if (length < 0)
		return -errno;
	target[length] = '\0';
	snprintf(ret, size, "%s", last_part(target));
	return 0;
}

bool devices__parse_mount(const char *line, struct devices_mount *ret)
{
	/* The number of optional fields before the dash varies, so search for the dash. */
	const char *rest = strstr(line, " - ");
	struct devices_mount mount;
	unsigned int major, minor;

	if (!rest || sscanf(line, "%*d %*d %u:%u", &major, &minor) != 2 ||
	    sscanf(rest, " - %63s %255s", mount.kind, mount.source) != 2 || major >> 12 ||
	    minor >> DEVICES_MINOR_BITS)
		return false;
	mount.dev = major << DEVICES_MINOR_BITS | minor;
	*ret = mount;
	return true;
}

bool devices__find_mount(const char *path, uint32_t dev, struct devices_mount *ret)
{
	cleanup(fclose_p) FILE *file = fopen(path, "re");
	struct devices_mount mount;
	char line[4096];

	while (file && fgets(line, sizeof(line), file))
		if (devices__parse_mount(line, &mount) && mount.dev == dev) {
			*ret = mount;
			return true;
		}
	return false;
}

int devices__under_file(uint32_t dev, uint32_t pid, char *ret, size_t size)
{
	struct devices_mount mount;
	char path[64];

	if (DEVICES_MAJOR(dev) && !devices__disk(dev, ret, size))
		return 0;
	ret[0] = '\0';
	snprintf(path, sizeof(path), "/proc/%u/mountinfo", pid);
	if ((!devices__find_mount(path, dev, &mount) &&
	     !devices__find_mount("/proc/self/mountinfo", dev, &mount)) ||
	    !strcmp(mount.kind, "devtmpfs"))
		return -ENOENT;
	/* btrfs and some others have an anonymous device number, but a disk as the mount source. */
	snprintf(ret, size, "%s",
		 strncmp(mount.source, DEV_PREFIX, strlen(DEV_PREFIX)) ? mount.kind
								       : last_part(mount.source));
	return 0;
}

void devices__name_mount(const struct devices_mount *mount, char *ret, size_t size)
{
	if (!strncmp(mount->source, DEV_PREFIX, strlen(DEV_PREFIX)))
		snprintf(ret, size, "%s on %s", mount->kind, mount->source + strlen(DEV_PREFIX));
	else if (strchr(mount->source, '/')) /* host:/export, a directory */
		snprintf(ret, size, "%s on %s", mount->kind, mount->source);
	else
		snprintf(ret, size, "%s", mount->kind);
}

struct place_name {
	uint32_t place;
	char name[96];
};

/* Cached, because there are thousands of series and events but few file systems. */
static void look_up(uint32_t place, struct place_name *ret)
{
	struct devices_mount mount;

	ret->place = place;
	if (devices__find_mount("/proc/self/mountinfo", place, &mount))
		devices__name_mount(&mount, ret->name, sizeof(ret->name));
	else
		snprintf(ret->name, sizeof(ret->name), "device %u:%u", DEVICES_MAJOR(place),
			 DEVICES_MINOR(place));
}

void devices__file_system(uint32_t dev, char *ret, size_t size)
{
	static struct place_name kept[PLACES_KEPT];
	struct place_name *entry = &kept[dev % PLACES_KEPT];

	if (entry->place != dev)
		look_up(dev, entry);
	snprintf(ret, size, "%s", entry->name);
}
