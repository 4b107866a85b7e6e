/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Throws exceptions through functions, and calls templates, overloaded functions and methods. */
#include <cstdio>

namespace shop
{

template <class T> __attribute__((noinline)) T add(T a, T b)
{
	__asm__ volatile("");
	return a + b;
}

__attribute__((noinline)) int price(int number)
{
	__asm__ volatile("" : "+r"(number));
	return number;
}

__attribute__((noinline)) int price(double number)
{
	__asm__ volatile("" : "+x"(number));
	return static_cast<int>(number);
}

__attribute__((noinline)) int price(const char *number)
{
	__asm__ volatile("" : "+r"(number));
	return number[0] - '0';
}

class Cart
{
      public:
	__attribute__((noinline)) void operator+=(int number)
	{
		__asm__ volatile("");
		sum += number;
	}

	volatile int sum = 0;
};

__attribute__((noinline)) int throws(int number)
{
	if (number >= 0)
		throw number;
	return number;
}

__attribute__((noinline)) int passes(int number)
{
	int result = throws(number);

	__asm__ volatile("" : "+r"(result));
	return result;
}

} // namespace shop

int main()
{
	int caught = 0, sum = 0;
	volatile int kept = 0;
	shop::Cart cart;

	for (int i = 0; i < 60; i++) {
		kept = kept + shop::price(i);
		if (i < 40)
			kept = kept + shop::price(0.5 + i);
		if (i < 20)
			kept = kept + shop::price("7");
		if (i < 30)
			kept = kept + static_cast<int>(shop::add<long>(i, 1));
		cart += i;
	}
	for (int i = 0; i < 100; i++) {
		sum += shop::add<int>(i, 1);
		try {
			sum += shop::passes(i);
		} catch (int) {
			caught++;
		}
	}
	std::printf("%d %d\n", caught, sum);
	return caught == 100 ? 0 : 1;
}
