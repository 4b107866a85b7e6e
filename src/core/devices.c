#include "core/devices.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

#define DEV_PREFIX "/dev/"

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

/* A line of mountinfo: what is behind " - " is the kind and the source. */
static int read_mount(const char *line, char *ret, size_t size)
{
	const char *rest = strstr(line, " - ");
	char kind[64], source[256];

	if (!rest || sscanf(rest, " - %63s %255s", kind, source) != 2 || !strcmp(kind, "devtmpfs"))
		return -ENOENT;
	/* btrfs and others have a number of their own, but a disk as their source. */
	snprintf(ret, size, "%s",
		 strncmp(source, DEV_PREFIX, strlen(DEV_PREFIX)) ? kind : last_part(source));
	return 0;
}

static int find_mount(const char *path, uint32_t dev, char *ret, size_t size)
{
	cleanup(fclose_p) FILE *file = fopen(path, "re");
	char line[4096];

	while (file && fgets(line, sizeof(line), file)) {
		unsigned int major, minor;

		if (sscanf(line, "%*d %*d %u:%u ", &major, &minor) == 2 &&
		    major == DEVICES_MAJOR(dev) && minor == DEVICES_MINOR(dev))
			return read_mount(line, ret, size);
	}
	return -ENOENT;
}

int devices__under_file(uint32_t dev, uint32_t pid, char *ret, size_t size)
{
	char path[64];
	int err;

	if (DEVICES_MAJOR(dev) && !devices__disk(dev, ret, size))
		return 0;
	ret[0] = '\0';
	snprintf(path, sizeof(path), "/proc/%u/mountinfo", pid);
	err = find_mount(path, dev, ret, size);
	return err ? find_mount("/proc/self/mountinfo", dev, ret, size) : 0;
}
