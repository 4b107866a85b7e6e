/* SPDX-License-Identifier: GPL-2.0-or-later */
// A program with many templates, for the comparison with llvm-symbolizer: what it does is of no matter.
#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <numeric>
#include <regex>
#include <sstream>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

namespace shapes
{
struct shape {
	virtual ~shape() = default;
	virtual double area() const = 0;
};
template <typename T> struct box : shape {
	T w, h;
	box(T w, T h) : w(w), h(h)
	{
	}
	double area() const override
	{
		return static_cast<double>(w) * h;
	}
};
} // namespace shapes

template <typename Map> static size_t count_words(const std::string &text, Map &map)
{
	std::istringstream in(text);
	std::string word;
	size_t words = 0;

	for (; in >> word; words++)
		map[word]++;
	return words;
}

int main(int argc, char **argv)
{
	std::map<std::string, int> sorted;
	std::unordered_map<std::string, int> hashed;
	std::vector<std::unique_ptr<shapes::shape>> all;
	std::variant<int, std::string, double> value = argc;
	std::regex word("([a-z]+)-([0-9]+)");
	std::smatch match;
	std::string text = argc > 1 ? argv[1] : "one-1 two-2 three-3";
	std::function<int(int)> fib = [&](int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); };

	all.push_back(std::make_unique<shapes::box<int>>(2, 3));
	all.push_back(std::make_unique<shapes::box<double>>(2.5, 3));
	std::cout << count_words(text, sorted) + count_words(text, hashed) << '\n';
	std::sort(all.begin(), all.end(), [](auto &a, auto &b) { return a->area() < b->area(); });
	std::cout << std::accumulate(all.begin(), all.end(), 0.0,
				     [](double sum, auto &s) { return sum + s->area(); });
	if (std::regex_search(text, match, word))
		value = match[1].str();
	std::visit([](auto &v) { std::cout << v << '\n'; }, value);
	return fib(argc) & 1;
}
