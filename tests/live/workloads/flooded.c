/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * flooded ROUNDS MS: the same work, with and without interrupts on its CPU.
 *
 * CPU 0 sends datagrams as fast as it can, from one network namespace to another. They are handled
 * on CPU 0 or on CPU 1 (rps_cpus). Threads on CPU 1 do a fixed amount of work, which takes about MS
 * milliseconds without interrupts: one named "alone" while CPU 0 handles the datagrams, one named
 * "hit" while CPU 1 does, in turns. CPU 0 is busy in both, because two CPUs may share a core.
 *
 * Logs "skip" if this machine cannot do that.
 */
#include "workload.h"

#include <arpa/inet.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define HERE    "flood0"
#define THERE   "flood1"
#define ADDRESS "10.213.7.1"
#define SENDER  "10.213.7.2"
#define PORT    9
#define BATCH   64

static const char rps_path[] = "/sys/class/net/" HERE "/queues/rx-0/rps_cpus";
static uint64_t turns;

static void skip(const char *why)
{
	phase_skip("flooded", why);
	exit(0);
}

static void move_to(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		skip("sched_setaffinity");
}

/* --- the network ---------------------------------------------------------------------------- */

struct request {
	struct nlmsghdr head;
	struct ifinfomsg link;
	char room[256];
};

static struct rtattr *add(struct request *request, unsigned short type, const void *data,
			  size_t size)
{
	struct rtattr *at = (void *)((char *)request + NLMSG_ALIGN(request->head.nlmsg_len));

	at->rta_type = type;
	at->rta_len = (unsigned short)RTA_LENGTH(size);
	if (size)
		memcpy(RTA_DATA(at), data, size);
	request->head.nlmsg_len = NLMSG_ALIGN(request->head.nlmsg_len) + RTA_SPACE(size);
	return at;
}

static void close_group(const struct request *request, struct rtattr *at)
{
	at->rta_len =
		(unsigned short)((const char *)request + request->head.nlmsg_len - (char *)at);
}

/* A pair of devices, of which one is in the network of another process. */
static int make_pair(pid_t there)
{
	struct request request = {
		.head = { .nlmsg_len = NLMSG_LENGTH(sizeof(request.link)),
			  .nlmsg_type = RTM_NEWLINK,
			  .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL },
	};
	struct {
		struct nlmsghdr head;
		struct nlmsgerr answer;
		char rest[512];
	} reply = {};
	struct ifinfomsg none = {};
	struct rtattr *info, *data, *peer;
	int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);

	add(&request, IFLA_IFNAME, HERE, sizeof(HERE));
	info = add(&request, IFLA_LINKINFO, NULL, 0);
	add(&request, IFLA_INFO_KIND, "veth", 4);
	data = add(&request, IFLA_INFO_DATA, NULL, 0);
	peer = add(&request, VETH_INFO_PEER, &none, sizeof(none));
	add(&request, IFLA_IFNAME, THERE, sizeof(THERE));
	add(&request, IFLA_NET_NS_PID, &there, sizeof(there));
	close_group(&request, peer);
	close_group(&request, data);
	close_group(&request, info);
	if (fd < 0 || send(fd, &request, request.head.nlmsg_len, 0) < 0 ||
	    recv(fd, &reply, sizeof(reply), 0) < 0)
		return -1;
	close(fd);
	errno = -reply.answer.error;
	return reply.answer.error ? -1 : 0;
}

static int set_up(const char *device, const char *address)
{
	struct sockaddr_in to = { .sin_family = AF_INET }, mask = to;
	struct ifreq request = {};
	int fd = socket(AF_INET, SOCK_DGRAM, 0), err;

	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", device);
	inet_pton(AF_INET, address, &to.sin_addr);
	inet_pton(AF_INET, "255.255.255.0", &mask.sin_addr);
	memcpy(&request.ifr_addr, &to, sizeof(to));
	err = ioctl(fd, SIOCSIFADDR, &request);
	memcpy(&request.ifr_netmask, &mask, sizeof(mask));
	err |= ioctl(fd, SIOCSIFNETMASK, &request);
	request.ifr_flags = IFF_UP | IFF_RUNNING;
	err |= ioctl(fd, SIOCSIFFLAGS, &request);
	close(fd);
	return err;
}

static void flood(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(PORT) };
	struct iovec bytes = { .iov_base = "ping", .iov_len = 4 };
	struct mmsghdr batch[BATCH] = {};
	int udp = socket(AF_INET, SOCK_DGRAM, 0);

	inet_pton(AF_INET, ADDRESS, &to.sin_addr);
	for (int i = 0; i < BATCH; i++)
		batch[i].msg_hdr = (struct msghdr) { .msg_name = &to,
						     .msg_namelen = sizeof(to),
						     .msg_iov = &bytes,
						     .msg_iovlen = 1 };
	for (;;)
		sendmmsg(udp, batch, BATCH, 0);
}

/* Starts the process that sends, in a network of its own. It ends with this one. */
static pid_t start_flood(void)
{
	int ready[2], go[2];
	pid_t child;

	make_pipe(ready);
	make_pipe(go);
	child = fork();
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		set_name("flood");
		move_to(0);
		if (unshare(CLONE_NEWNET))
			_exit(1);
		send_token(ready[1]);
		await_token(go[0]);
		if (set_up(THERE, SENDER))
			_exit(1);
		flood();
	}
	await_token(ready[0]);
	if (make_pair(child))
		skip("veth");
	if (set_up(HERE, ADDRESS))
		skip("address");
	send_token(go[1]);
	return child;
}

/* The first datagrams wait for the devices to come up. */
static void await_flood(void)
{
	for (int i = 0; i < 500; i++) {
		FILE *file = fopen("/sys/class/net/" HERE "/statistics/rx_packets", "r");
		long packets = 0;

		if (!file || fscanf(file, "%ld", &packets) != 1)
			skip("rx_packets");
		fclose(file);
		if (packets > 1000)
			return;
		sleep_ns(10 * MS);
	}
	skip("no packets");
}

static void handle_on(int cpu)
{
	FILE *file = fopen(rps_path, "w");

	if (!file || fprintf(file, "%x\n", 1U << cpu) < 0 || fclose(file))
		skip("rps_cpus");
}

/* /sys shows the devices of the network that it was mounted in. */
static void leave_network(void)
{
	if (unshare(CLONE_NEWNS | CLONE_NEWNET))
		skip("unshare");
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("sysfs", "/sys", "sysfs", 0, NULL))
		skip("sysfs");
}

/* Receives nothing: a datagram to a closed port would be answered. */
static void open_port(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(PORT) };

	if (bind(socket(AF_INET, SOCK_DGRAM, 0), (struct sockaddr *)&at, sizeof(at)))
		skip("bind");
}

/* --- the work ------------------------------------------------------------------------------- */

/* It needs no memory, so interrupts cannot slow it down by the caches that they use. */
static void work(uint64_t count)
{
	uint64_t value = 1;

	for (uint64_t i = 0; i < count; i++) {
		value = value * 6364136223846793005 + 1442695040888963407;
		__asm__ volatile("" : "+r"(value));
	}
}

static void *take_turn(void *name)
{
	struct phase phase = phase_begin("flooded", name);

	work(turns);
	phase_end(&phase);
	return NULL;
}

static void measure(uint64_t ms)
{
	const uint64_t count = 4000000;
	uint64_t least_ns = UINT64_MAX;

	for (int i = 0; i < 5; i++) {
		uint64_t begin_ns = read_clock(CLOCK_THREAD_CPUTIME_ID), ns;

		work(count);
		ns = read_clock(CLOCK_THREAD_CPUTIME_ID) - begin_ns;
		if (ns < least_ns)
			least_ns = ns;
	}
	turns = ms * MS * count / least_ns;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 5, status;
	pid_t child;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2) {
		errno = ENODEV;
		skip("a second CPU");
	}
	leave_network();
	open_port();
	move_to(1);
	measure(argc > 2 ? (uint64_t)atoi(argv[2]) : 100);
	child = start_flood();
	await_flood();
	for (int i = 0; i < 2 * rounds; i++) {
		handle_on(i % 2);
		sleep_ns(20 * MS);
		pthread_join(start_thread(take_turn, i % 2 ? "hit" : "alone"), NULL);
	}
	if (waitpid(child, &status, WNOHANG) == child)
		skip("the other network");
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	return 0;
}
