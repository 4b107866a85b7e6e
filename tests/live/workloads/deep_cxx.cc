/* SPDX-License-Identifier: GPL-2.0-or-later */
/* deep_cxx MS: as deep, in C++: virtual calls, inlined templates, and exceptions through frames that clean up. */
#include <chrono>
#include <cstdlib>
#include <memory>
#include <pthread.h>
#include <thread>

using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

constexpr int steps = 200;
milliseconds length;
volatile unsigned int cleaned;

#define KEEP_FRAME() __asm__ volatile("" ::: "memory")

struct Guard {
	~Guard()
	{
		cleaned = cleaned + 1;
	}
};

template <typename Work> [[gnu::always_inline]] inline void repeat_inlined(milliseconds ms, Work work)
{
	const auto end = steady_clock::now() + ms;

	while (steady_clock::now() < end)
		work();
}

[[gnu::noinline]] void bottom_burn(milliseconds ms)
{
	repeat_inlined(ms, [] {
		for (volatile int i = 0; i < 20000; i = i + 1)
			;
	});
	KEEP_FRAME();
}

[[gnu::noinline]] void bottom_nap(milliseconds ms)
{
	repeat_inlined(ms, [] { std::this_thread::sleep_for(milliseconds(2)); });
	KEEP_FRAME();
}

[[gnu::noinline]] void throw_from(int left)
{
	Guard guard;

	if (!left)
		throw left;
	throw_from(left - 1);
	KEEP_FRAME();
}

[[gnu::noinline]] void bottom_throw(milliseconds ms)
{
	repeat_inlined(ms, [] {
		try {
			throw_from(8);
		} catch (int) {
			cleaned = 0;
		}
	});
	KEEP_FRAME();
}

struct Walker {
	virtual ~Walker() = default;
	virtual void step_a(int left) = 0;
	virtual void step_b(int left) = 0;
	virtual void step_c(int left) = 0;
};

struct Bottom {
	virtual ~Bottom() = default;
	virtual void through() = 0;
};

struct Plain : Bottom {
	void through() override
	{
		bottom_burn(length);
		bottom_nap(length);
		KEEP_FRAME();
	}
};

struct Throwing : Bottom {
	void through() override
	{
		bottom_throw(length);
		KEEP_FRAME();
	}
};

struct Down : Walker {
	Walker *volatile next = this;
	Bottom &bottom;

	explicit Down(Bottom &at) : bottom(at)
	{
	}

	void step_a(int left) override
	{
		Guard guard;

		if (left)
			next->step_b(left - 1);
		else
			bottom.through();
	}

	void step_b(int left) override
	{
		char room[400];

		__asm__ volatile("" ::"r"(room) : "memory");
		if (left)
			next->step_c(left - 1);
		else
			bottom.through();
		KEEP_FRAME();
	}

	void step_c(int left) override
	{
		if (left)
			next->step_a(left - 1);
		else
			bottom.through();
		KEEP_FRAME();
	}
};

[[gnu::noinline]] void run_variant(const char *name, Bottom &bottom)
{
	std::thread thread([&] {
		pthread_setname_np(pthread_self(), name);
		std::unique_ptr<Walker> walker = std::make_unique<Down>(bottom);
		walker->step_a(steps - 1);
	});

	thread.join();
}

} // namespace

int main(int argc, char **argv)
{
	Plain plain;
	Throwing throwing;

	length = milliseconds(argc > 1 ? std::atoi(argv[1]) : 100);
	run_variant("cxx", plain);
	run_variant("cxx-throw", throwing);
	return 0;
}
