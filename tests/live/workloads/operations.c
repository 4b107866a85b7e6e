/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * operations DIR [DEVICE]: a known number of operations on files in DIR, with known sizes and
 * results; see test_files.c, which expects each of them. Its cold reads are of DEVICE, where DIR is
 * in memory.
 */
#include "workload.h"

#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>

#define FILES      4
#define FILE_BYTES 10000
#define READS      2500
#define PAGE_BYTES 4096UL
#define COLD_PAGES 64
#define SLOW_NS    (30 * MS)
#define VECTOR     20

static char block[FILE_BYTES];
static const char *directory;

static const char *in_directory(const char *name)
{
	static char path[512];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return path;
}

static void expect(const char *what, long is, long should)
{
	if (is == should)
		return;
	fprintf(stderr, "%s: %ld, not %ld: %s\n", what, is, should, strerror(errno));
	exit(1);
}

static int make_file(const char *name)
{
	int fd = open(in_directory(name), O_CREAT | O_RDWR | O_TRUNC, 0600);

	if (fd < 0)
		die(in_directory(name));
	expect("write", write(fd, block, sizeof(block)), sizeof(block));
	return fd;
}

/* 10,000 of them: whole, a short one at the end of each file, and one behind it. */
static void read_files(void)
{
	for (int i = 0; i < FILES; i++) {
		char name[] = { 'f', (char)('0' + i), '\0' };
		size_t size = (size_t)(i + 1) * 100;
		int fd = make_file(name);

		for (int j = 0; j < READS - 2; j++)
			expect("pread", pread(fd, block, size, j), (long)size);
		expect("short pread", pread(fd, block, size, FILE_BYTES - 7), 7);
		expect("last pread", pread(fd, block, size, FILE_BYTES), 0);
		close(fd);
	}
}

static void read_vectors(void)
{
	struct iovec vector[VECTOR];
	int fd = make_file("vector");

	for (int i = 0; i < VECTOR; i++)
		vector[i] = (struct iovec) { block + 5 * i, 5 };
	lseek(fd, 0, SEEK_SET);
	for (int i = 0; i < 10; i++)
		expect("readv", readv(fd, vector, 3), 15);
	expect("preadv", preadv(fd, vector, VECTOR, 100), 5L * VECTOR);
	for (int i = 0; i < 50; i++)
		expect("pwritev", pwritev(fd, vector, 17, 100), 5L * 17);
	close(fd);
}

static void write_file(void)
{
	int fd = make_file("written"), out;

	for (int i = 0; i < 100; i++)
		expect("write", write(fd, block, 1000), 1000);
	for (int i = 0; i < 3; i++)
		expect("fsync", fsync(fd), 0);
	for (int i = 0; i < 2; i++)
		expect("fdatasync", fdatasync(fd), 0);
	expect("ftruncate", ftruncate(fd, 5000), 0);
	out = make_file("sent");
	lseek(fd, 0, SEEK_SET);
	expect("sendfile", sendfile(out, fd, NULL, 6000), 5000);
	close(out);
	close(fd);
	fd = open(in_directory("sent"), O_WRONLY);
	for (int i = 0; i < 4; i++)
		expect("read", read(fd, block, 10), -1);
	close(fd);
}

/* By whole paths, from the working directory, and from a descriptor. */
static void look_at_paths(void)
{
	struct stat stat_of;
	int dir;

	for (int i = 0; i < 7; i++)
		close(open(in_directory("f0"), O_RDONLY));
	for (int i = 0; i < 11; i++)
		expect("open", open(in_directory("nothing"), O_RDONLY), -1);
	for (int i = 0; i < 13; i++)
		expect("stat", stat(in_directory("f1"), &stat_of), 0);
	for (int i = 0; i < 17; i++)
		expect("stat", stat(in_directory("nothing"), &stat_of), -1);
	if (chdir(directory))
		die(directory);
	for (int i = 0; i < 3; i++)
		expect("stat", stat("f1", &stat_of), 0);
	dir = open(".", O_RDONLY | O_DIRECTORY);
	for (int i = 0; i < 5; i++)
		expect("fstat", fstat(dir, &stat_of), 0);
	for (int i = 0; i < 2; i++)
		expect("faccessat", faccessat(dir, "f2", R_OK, 0), 0);
	expect("mkdirat", mkdirat(dir, "below", 0700), 0);
	expect("rename", rename("f3", "below/f3"), 0);
	expect("unlink", unlink("below/f3"), 0);
	expect("rmdir", rmdir("below"), 0);
	close(dir);
}

/* A process that has another root goes by that; a file without a name says so. */
static void write_elsewhere(void)
{
	pid_t child = fork();
	int fd;

	if (!child) {
		if (chroot(directory) || chdir("/"))
			die("chroot");
		fd = open("/rooted", O_CREAT | O_RDWR, 0600);
		expect("write", write(fd, block, 8), 8);
		expect("unlink", unlink("/rooted"), 0);
		_exit(0);
	}
	if (waitpid(child, NULL, 0) != child)
		die("waitpid");
	fd = open(directory, O_TMPFILE | O_RDWR, 0600);
	expect("write", write(fd, block, 9), 9);
	close(fd);
	fd = memfd_create("operations", 0);
	expect("write", write(fd, block, 11), 11);
	close(fd);
}

/* Not files: none of these counts. */
static void talk(void)
{
	int ends[2], pair[2];
	char byte;

	make_pipe(ends);
	expect("socketpair", socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	for (int i = 0; i < 100; i++) {
		send_token(ends[1]);
		await_token(ends[0]);
		send_token(pair[0]);
		await_token(pair[1]);
	}
	if (read(-1, &byte, 1) != -1)
		die("read");
}

static void *fill_page(void *arg)
{
	int fd = (int)(intptr_t)arg;
	static char page[PAGE_BYTES];
	struct uffd_msg message;
	struct uffdio_copy copy = { .src = (uintptr_t)page, .len = PAGE_BYTES };

	set_name("filler");
	if (read(fd, &message, sizeof(message)) != sizeof(message))
		die("userfaultfd");
	copy.dst = message.arg.pagefault.address & ~(PAGE_BYTES - 1);
	sleep_ns(SLOW_NS);
	if (ioctl(fd, UFFDIO_COPY, &copy))
		die("UFFDIO_COPY");
	return NULL;
}

/* A read that takes long for sure: the page that it reads into comes after 30 ms. */
static void read_slowly(void)
{
	struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	struct uffdio_api api = { .api = UFFD_API };
	char *page =
		mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fault = (int)syscall(SYS_userfaultfd, O_CLOEXEC), fd = make_file("slow");
	pthread_t filler;

	range.range.start = (uintptr_t)page;
	range.range.len = PAGE_BYTES;
	if (fault < 0 || ioctl(fault, UFFDIO_API, &api) || ioctl(fault, UFFDIO_REGISTER, &range))
		die("userfaultfd");
	filler = start_thread(fill_page, (void *)(intptr_t)fault);
	expect("slow pread", pread(fd, page, 100, 33), 100);
	pthread_join(filler, NULL);
	close(fd);
}

static int cold = -1;

static void *read_pages(void *name)
{
	set_name(name);
	for (size_t i = 0; i < COLD_PAGES; i++)
		expect("pread", pread(cold, block, PAGE_BYTES, (off_t)(i * PAGE_BYTES)),
		       PAGE_BYTES);
	return NULL;
}

static int make_cold_file(void)
{
	int fd = make_file("cold");

	for (size_t i = 0; i < COLD_PAGES; i++)
		expect("write", pwrite(fd, block, PAGE_BYTES, (off_t)(i * PAGE_BYTES)), PAGE_BYTES);
	expect("fsync", fsync(fd), 0);
	return fd;
}

/* Each page once while it is not in the page cache, and once while it is. */
static void read_cold(const char *device)
{
	cold = device ? open(device, O_RDONLY) : make_cold_file();
	if (cold < 0)
		die(device);
	posix_fadvise(cold, 0, 0, POSIX_FADV_DONTNEED);
	posix_fadvise(cold, 0, 0, POSIX_FADV_RANDOM); /* what is asked for, and no more */
	pthread_join(start_thread(read_pages, "cold"), NULL);
	pthread_join(start_thread(read_pages, "warm"), NULL);
	close(cold);
}

static void clean_up(void)
{
	static const char *const names[] = { "f0",   "f1",   "f2",   "vector",
					     "sent", "slow", "cold", "written" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		unlink(in_directory(names[i]));
	rmdir(directory);
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	directory = argv[1];
	if (mkdir(directory, 0700))
		die(directory);
	read_files();
	read_vectors();
	write_file();
	look_at_paths();
	write_elsewhere();
	talk();
	read_slowly();
	read_cold(argc > 2 ? argv[2] : NULL);
	clean_up();
	return 0;
}
