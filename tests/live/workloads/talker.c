/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * talker MODE…: TCP over the loopback of a network namespace of its own, with known numbers. Logs
 * what the kernel itself says of each connection (TCP_INFO, which ss -ti shows) and of the
 * namespace (/proc/net/netstat and snmp, which nstat shows).
 */
#include <arpa/inet.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <linux/tcp.h>

#include "workload.h"

#define CONNECTIONS 4
#define MANY        1500
#define DELAY_NS    (60 * MS)
#define PIECE       4096UL
#define BULK        (4UL << 20)

static int family = AF_INET;
static char zeros[65536];

/* Alone in a namespace, so that its counters are of what is done here. */
static void leave_network(void)
{
	struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
	int fd;

	if (unshare(CLONE_NEWNET))
		die("unshare");
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &request))
		die("lo");
	close(fd);
}

/* The value below the name, in the two lines "Group: NAME …" and "Group: VALUE …". */
static unsigned long counter(const char *path, const char *group, const char *name)
{
	static char names[8192], values[8192];
	FILE *file = fopen(path, "r");
	char *at, *name_end, *value_end;

	while (file && fgets(names, sizeof(names), file) && fgets(values, sizeof(values), file)) {
		if (strncmp(names, group, strlen(group)))
			continue;
		at = strtok_r(names, " \n", &name_end);
		strtok_r(values, " \n", &value_end);
		while ((at = strtok_r(NULL, " \n", &name_end))) {
			unsigned long value = strtoul(strtok_r(NULL, " \n", &value_end), NULL, 10);

			if (!strcmp(at, name)) {
				fclose(file);
				return value;
			}
		}
	}
	die(name);
	return 0;
}

static void log_counters(void)
{
	log_line("{\"counters\": 1, \"retransmits\": %lu, \"drops\": %lu, \"overflows\": %lu, "
		 "\"resets\": %lu}\n",
		 counter("/proc/net/snmp", "Tcp:", "RetransSegs"),
		 counter("/proc/net/netstat", "TcpExt:", "ListenDrops"),
		 counter("/proc/net/netstat", "TcpExt:", "ListenOverflows"),
		 counter("/proc/net/snmp", "Tcp:", "OutRsts"));
}

#define STATE_TIME_WAIT 6
#define STATE_LISTEN    10

/* Whether there are connections that are not over. */
static bool is_busy(const char *path)
{
	FILE *file = fopen(path, "r");
	char line[512];
	bool busy = false;
	unsigned int connection_state;

	if (!file)
		die(path);
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, " %*d: %*[0-9A-F:] %*[0-9A-F:] %x", &connection_state) == 1 &&
		    connection_state != STATE_TIME_WAIT && connection_state != STATE_LISTEN)
			busy = true;
	fclose(file);
	return busy;
}

/* A process may close its sockets and end before their last segments have come. */
static void await_quiet(void)
{
	for (int i = 0; i < 1000 && (is_busy("/proc/net/tcp") || is_busy("/proc/net/tcp6")); i++)
		sleep_ns(10 * MS);
}

static void name_end_of(const struct sockaddr_in6 *address, char *ret, size_t size)
{
	const struct sockaddr_in *old = (const void *)address;
	char text[INET6_ADDRSTRLEN];

	if (address->sin6_family == AF_INET6)
		snprintf(ret, size, "[%s]:%d",
			 inet_ntop(AF_INET6, &address->sin6_addr, text, sizeof(text)),
			 ntohs(address->sin6_port));
	else
		snprintf(ret, size, "%s:%d", inet_ntop(AF_INET, &old->sin_addr, text, sizeof(text)),
			 ntohs(old->sin_port));
}

/* What the kernel counts of it. `side` is what the test looks for. */
static void log_connection(const char *side, int fd)
{
	char local[96], peer[96];
	struct sockaddr_in6 address;
	struct tcp_info info = {};
	socklen_t size = sizeof(address);

	getsockname(fd, (void *)&address, &size);
	name_end_of(&address, local, sizeof(local));
	size = sizeof(address);
	getpeername(fd, (void *)&address, &size);
	name_end_of(&address, peer, sizeof(peer));
	size = sizeof(info);
	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size))
		die("TCP_INFO");
	log_line("{\"side\": \"%s\", \"name\": \"%s ↔ %s\", \"sent\": %llu, \"received\": %llu, "
		 "\"segments_out\": %u, \"segments_in\": %u, \"retransmits\": %u, "
		 "\"rtt_ns\": %u, \"limited_ns\": %llu, \"busy_ns\": %llu, \"buffer_ns\": %llu}\n",
		 side, local, peer, info.tcpi_bytes_sent - info.tcpi_bytes_retrans,
		 info.tcpi_bytes_received, info.tcpi_segs_out, info.tcpi_segs_in,
		 info.tcpi_total_retrans, info.tcpi_rtt * 1000, info.tcpi_rwnd_limited * 1000,
		 info.tcpi_busy_time * 1000, info.tcpi_sndbuf_limited * 1000);
}

static int listen_on(int backlog, struct sockaddr_in6 *ret)
{
	struct sockaddr_in old = { .sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(family, SOCK_STREAM, 0);
	socklen_t size = sizeof(*ret);

	*ret = (struct sockaddr_in6) { .sin6_family = AF_INET6, .sin6_addr = in6addr_loopback };
	if (family == AF_INET)
		memcpy(ret, &old, sizeof(old));
	if (fd < 0 || bind(fd, (void *)ret, sizeof(*ret)) || listen(fd, backlog) ||
	    getsockname(fd, (void *)ret, &size))
		die("listen");
	return fd;
}

static int connect_to(const struct sockaddr_in6 *address)
{
	int fd = socket(family, SOCK_STREAM, 0), one = 1;

	/* What the system prefers may take its time after a loss. */
	setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "reno", 4);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (connect(fd, (const void *)address, sizeof(*address)))
		die("connect");
	return fd;
}

static int accept_at(int listener)
{
	int fd = accept(listener, NULL, NULL);

	if (fd < 0)
		die("accept");
	return fd;
}

static void send_bytes(int fd, size_t bytes)
{
	while (bytes) {
		ssize_t sent = send(fd, zeros, bytes < sizeof(zeros) ? bytes : sizeof(zeros), 0);

		if (sent < 0)
			die("send");
		bytes -= (size_t)sent;
	}
}

static void receive_bytes(int fd, size_t bytes)
{
	static __thread char buffer[65536];

	while (bytes) {
		ssize_t got = recv(fd, buffer, bytes < sizeof(buffer) ? bytes : sizeof(buffer), 0);

		if (got <= 0)
			die("recv");
		bytes -= (size_t)got;
	}
}

static void await_end(int fd)
{
	if (recv(fd, zeros, 1, 0) != 0)
		die("end");
}

/* Connections that are accepted late, each with bytes both ways. */
static void exchange(void)
{
	struct sockaddr_in6 address;
	int listener = listen_on(16, &address);

	for (unsigned int i = 1; i <= CONNECTIONS; i++) {
		int client = connect_to(&address), server;

		sleep_ns(DELAY_NS);
		server = accept_at(listener);
		send_bytes(client, 10000 * i + 1);
		receive_bytes(server, 10000 * i + 1);
		send_bytes(server, 1000 * i + 7);
		receive_bytes(client, 1000 * i + 7);
		log_connection("client", client);
		log_connection("server", server);
		close(client);
		await_end(server);
		close(server);
	}
	close(listener);
}

/* Open before the recording and after it. */
static void stay_open(void)
{
	struct sockaddr_in6 address;
	int listener = listen_on(16, &address);
	int client = connect_to(&address), server = accept_at(listener);

	send_bytes(client, 5000);
	receive_bytes(server, 5000);
	await_go();
	send_bytes(client, 300000);
	receive_bytes(server, 300000);
	send_bytes(server, 70000);
	receive_bytes(client, 70000);
	sleep_ns(300 * MS); /* the last acknowledgement may come late */
	log_connection("client", client);
	log_connection("server", server);
	pause();
}

static void refused(void)
{
	struct sockaddr_in6 address;
	int fd = listen_on(1, &address);

	close(fd);
	for (int i = 0; i < 3; i++) {
		fd = socket(family, SOCK_STREAM, 0);
		if (!connect(fd, (void *)&address, sizeof(address)) || errno != ECONNREFUSED)
			die("connect");
		close(fd);
	}
}

static void reset(void)
{
	const struct linger now = { .l_onoff = 1 };
	struct sockaddr_in6 address;
	int listener = listen_on(16, &address);

	for (int i = 0; i < 2; i++) {
		int client = connect_to(&address), server = accept_at(listener);

		setsockopt(client, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
		close(client);
		if (recv(server, zeros, 1, 0) != -1 || errno != ECONNRESET)
			die("reset");
		close(server);
	}
	close(listener);
}

/* In small pieces, so that a loss is soon noticed by what follows. */
static void *send_bulk(void *arg)
{
	set_name("talker-sender");
	for (size_t sent = 0; sent < BULK; sent += PIECE)
		send_bytes(*(int *)arg, PIECE);
	return NULL;
}

/* The receiver does not read for a while. */
static void closed_window(void)
{
	struct sockaddr_in6 address;
	int listener = listen_on(16, &address);
	int client = connect_to(&address), server = accept_at(listener);
	pthread_t sender = start_thread(send_bulk, &client);

	sleep_ns(2500 * MS);
	receive_bytes(server, BULK);
	pthread_join(sender, NULL);
	sleep_ns(300 * MS);
	log_connection("client", client);
	close(client);
	await_end(server);
	close(server);
}

/* More ask for a connection than the queue of the listener takes. */
static void overflow(void)
{
	struct sockaddr_in6 address;
	int listener = listen_on(1, &address), clients[6];

	for (int i = 0; i < 6; i++) {
		clients[i] = socket(family, SOCK_STREAM | SOCK_NONBLOCK, 0);
		connect(clients[i], (void *)&address, sizeof(address));
	}
	sleep_ns(2500 * MS); /* they try again after a second */
	for (int i = 0; i < 6; i++)
		close(clients[i]);
	close(listener);
}

/* The receiving socket drops about one segment in four, before TCP sees it. */
static void filter_begins(int server)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned int)(SKF_AD_OFF + SKF_AD_RANDOM)),
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, 0x3fffffff, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, 0),
		BPF_STMT(BPF_RET | BPF_K, 0x7fffffff),
	};
	struct sock_fprog filter = { sizeof(code) / sizeof(*code), code };

	if (setsockopt(server, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter)))
		die("SO_ATTACH_FILTER");
}

static void filter_ends(int server)
{
	setsockopt(server, SOL_SOCKET, SO_DETACH_FILTER, NULL, 0);
}

/* The loopback device loses one packet in twenty, either way: as `tc qdisc add … netem` has it. */
static void netem_begins(int server)
{
	struct {
		struct nlmsghdr head;
		struct tcmsg to;
		struct rtattr kind;
		char name[8];
		struct rtattr options;
		struct tc_netem_qopt netem;
	} request = {
		.head = { .nlmsg_len = sizeof(request),
			  .nlmsg_type = RTM_NEWQDISC,
			  .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE },
		.to = { .tcm_ifindex = 1, .tcm_handle = 1 << 16, .tcm_parent = TC_H_ROOT },
		.kind = { .rta_len = RTA_LENGTH(6), .rta_type = TCA_KIND },
		.name = "netem",
		.options = { .rta_len = RTA_LENGTH(sizeof(struct tc_netem_qopt)),
			     .rta_type = TCA_OPTIONS },
		.netem = { .limit = 10000, .loss = UINT32_MAX / 20 },
	};
	int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
	struct {
		struct nlmsghdr head;
		struct nlmsgerr answer;
		char rest[512];
	} reply = {};

	if (fd < 0 || send(fd, &request, sizeof(request), 0) < 0 ||
	    recv(fd, &reply, sizeof(reply), 0) < 0)
		die("netlink");
	close(fd);
	if (reply.answer.error) {
		errno = -reply.answer.error;
		die("netem");
	}
}

static void netem_ends(int server)
{
	struct {
		struct nlmsghdr head;
		struct tcmsg of;
	} request = {
		.head = { .nlmsg_len = sizeof(request),
			  .nlmsg_type = RTM_DELQDISC,
			  .nlmsg_flags = NLM_F_REQUEST },
		.of = { .tcm_ifindex = 1, .tcm_parent = TC_H_ROOT },
	};
	int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);

	if (fd < 0 || send(fd, &request, sizeof(request), 0) < 0)
		die("netlink");
	close(fd);
}

static void lose(void (*begins)(int server), void (*ends)(int server))
{
	struct sockaddr_in6 address;
	int listener = listen_on(16, &address), client, server;
	pthread_t sender;

	client = connect_to(&address);
	server = accept_at(listener);
	begins(server);
	sender = start_thread(send_bulk, &client);
	receive_bytes(server, BULK);
	pthread_join(sender, NULL);
	ends(server);
	sleep_ns(500 * MS); /* what is under way still arrives */
	log_connection("client", client);
	log_connection("server", server);
	close(client);
	await_end(server);
	close(server);
}

static void lossy(void)
{
	lose(filter_begins, filter_ends);
}

static void netem(void)
{
	lose(netem_begins, netem_ends);
}

static void unix_pair(void)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		die("socketpair");
	for (int i = 0; i < 100; i++) {
		send_bytes(pair[0], 1000);
		if (recv(pair[1], zeros, 10, MSG_PEEK) != 10)
			die("peek");
		receive_bytes(pair[1], 1000);
	}
}

static void churn(void)
{
	struct sockaddr_in6 address;
	int listener = listen_on(16, &address);

	for (int i = 0; i < MANY; i++) {
		int client = connect_to(&address), server = accept_at(listener);

		send_bytes(client, 10);
		receive_bytes(server, 10);
		close(client);
		await_end(server);
		close(server);
	}
	close(listener);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
		int family;
	} modes[] = {
		{ "ipv4", exchange, AF_INET },     { "ipv6", exchange, AF_INET6 },
		{ "open", stay_open, AF_INET },    { "refused", refused, AF_INET },
		{ "reset", reset, AF_INET },       { "window", closed_window, AF_INET },
		{ "overflow", overflow, AF_INET }, { "lossy", lossy, AF_INET },
		{ "lossy6", lossy, AF_INET6 },     { "unix", unix_pair, AF_INET },
		{ "churn", churn, AF_INET },       { "netem", netem, AF_INET },
	};

	leave_network();
	for (int i = 1; i < argc; i++) {
		for (size_t k = 0; k < sizeof(modes) / sizeof(*modes); k++) {
			if (strcmp(argv[i], modes[k].name))
				continue;
			family = modes[k].family;
			modes[k].run();
		}
	}
	await_quiet();
	log_counters();
	return 0;
}
