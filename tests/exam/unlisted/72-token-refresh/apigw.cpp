// SPDX-License-Identifier: GPL-2.0-or-later
// apigw PORT: 6 threads answer requests, each of which needs a token. A token is good for 15 ms;
// who finds it expired fetches a new one from the service at PORT, under the lock that all need.
#include <arpa/inet.h>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

using Clock = std::chrono::steady_clock;

std::mutex token_mutex;
static std::string token;
static Clock::time_point token_until;
static std::atomic<long> waited_us, fetched_us;
static volatile double calculated;
static int auth;

static long us_since(Clock::time_point start)
{
	return std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - start).count();
}

__attribute__((noinline)) static void refresh_token()
{
	auto start = Clock::now();
	char fresh[32];

	if (write(auth, "token\n", 6) != 6 ||
	    recv(auth, fresh, sizeof(fresh), MSG_WAITALL) != sizeof(fresh))
		exit(1);
	token.assign(fresh, sizeof(fresh));
	token_until = Clock::now() + std::chrono::milliseconds(15);
	fetched_us += us_since(start);
}

__attribute__((noinline)) static std::string get_token()
{
	auto start = Clock::now();
	std::lock_guard<std::mutex> guard(token_mutex);

	waited_us += us_since(start);
	if (Clock::now() >= token_until)
		refresh_token();
	return token;
}

__attribute__((noinline)) static void answer_request(const std::string &with)
{
	double sum = with.size();

	for (int i = 0; i < 600000; i++)
		sum = sum * 0.999999 + i;
	calculated = sum;
}

static void serve()
{
	for (;;)
		answer_request(get_token());
}

int main(int argc, char **argv)
{
	sockaddr_in address = {};

	address.sin_family = AF_INET;
	address.sin_port = htons(argc == 2 ? atoi(argv[1]) : 0);
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	auth = socket(AF_INET, SOCK_STREAM, 0);
	if (connect(auth, reinterpret_cast<sockaddr *>(&address), sizeof(address)) != 0)
		return 1;
	for (int i = 0; i < 6; i++) {
		std::thread thread(serve);

		pthread_setname_np(thread.native_handle(),
				   ("request-" + std::to_string(i)).c_str());
		thread.detach();
	}
	for (;;) {
		long waited = waited_us, fetched = fetched_us;

		sleep(1);
		printf("in a second, requests waited %.2f s for the lock; tokens were fetched for %.2f s\n",
		       (waited_us - waited) / 1e6, (fetched_us - fetched) / 1e6);
		fflush(stdout);
	}
}
