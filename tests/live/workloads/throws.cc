/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Throws exceptions through functions, and calls a template. */
#include <cstdio>

namespace shop
{

template <class T> __attribute__((noinline)) T add(T a, T b)
{
	__asm__ volatile("");
	return a + b;
}

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
