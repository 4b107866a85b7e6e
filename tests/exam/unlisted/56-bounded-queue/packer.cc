/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parsers put blocks into a queue of 16; a compressor takes them out. */
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <mutex>
#include <pthread.h>
#include <thread>
#include <vector>

using block = std::vector<unsigned char>;
using namespace std::chrono;

static std::mutex lock;
static std::condition_variable has_room, has_block;
static std::deque<block> queue;
static std::atomic<long> blocked_us;
static volatile unsigned long sink;

[[gnu::noinline]] static block parse_block()
{
	block bytes(4096);

	for (size_t i = 0; i < bytes.size() * 20; i++)
		bytes[i % bytes.size()] += i;
	return bytes;
}

[[gnu::noinline]] static void compress_block(const block &bytes)
{
	for (int round = 0; round < 600; round++)
		for (unsigned char byte : bytes)
			sink = sink * 31 + byte;
}

static void parse()
{
	for (;;) {
		block bytes = parse_block();
		auto began = steady_clock::now();
		std::unique_lock<std::mutex> guard(lock);

		has_room.wait(guard, [] { return queue.size() < 16; });
		blocked_us += duration_cast<microseconds>(steady_clock::now() - began).count();
		queue.push_back(std::move(bytes));
		has_block.notify_one();
	}
}

static void compress()
{
	for (;;) {
		std::unique_lock<std::mutex> guard(lock);

		has_block.wait(guard, [] { return !queue.empty(); });
		block bytes = std::move(queue.front());
		queue.pop_front();
		guard.unlock();
		has_room.notify_one();
		compress_block(bytes);
	}
}

static void start(const char *name, void (*work)())
{
	std::thread thread(work);

	pthread_setname_np(thread.native_handle(), name);
	thread.detach();
}

int main()
{
	start("compressor", compress);
	for (int i = 0; i < 4; i++)
		start("parser", parse);
	for (;;) {
		long before = blocked_us;

		std::this_thread::sleep_for(seconds(1));
		printf("blocked_percent=%ld\n", (blocked_us - before) / 4 / 10000);
		fflush(stdout);
	}
}
