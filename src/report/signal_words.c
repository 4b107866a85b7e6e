#include "report/signal_words.h"

#include <string.h>

#include "report/findings.h"
#include "report/words.h"

#define NAME_COLUMNS 40

/* Below this, an average does describe a hump. */
#define DESCRIBES 1.5

void signal_words__what(const struct signals_signal *signal, const struct signals_row *row,
			char *text, size_t size)
{
	size_t length = strlen(row->operation);
	char last = length ? row->operation[length - 1] : '\0';

	if (length)
		words__say(text, size, "%s%s", words__clean(row->operation, NAME_COLUMNS).text,
			   last == 's' || last == 'h' ? "es" : "s");
	else
		words__say(text, size, "%s", words__clean(signal->events, NAME_COLUMNS).text);
	if (strstr(row->place, " on "))
		words__say(text, size, " (%s)", words__clean(row->place, NAME_COLUMNS).text);
	else if (*row->place)
		words__say(text, size, " on %s", words__clean(row->place, NAME_COLUMNS).text);
}

bool signal_words__who(const struct model_group *group, const struct model_thread *thread,
		       char *text, size_t size)
{
	char name[512];

	if (!group)
		return false;
	if (!thread && group->members == 1)
		thread = group->first;
	findings__name(group, thread, name, sizeof(name));
	words__say(text, size, "%s", name);
	return true;
}

bool signal_words__hump(const struct signals_signal *signal, const struct signals_row *row,
			struct hump *ret)
{
	const struct model_histogram *histogram;

	if (signal->main < 0)
		return false;
	histogram = &row->histograms[signal->main];
	return hump__find(histogram->buckets, histogram->bucket_count, ret);
}

void signal_words__say_hump(const struct signals_signal *signal, const struct signals_row *row,
			    const struct hump *hump, char *text, size_t size)
{
	int64_t whole = hump->low_count + hump->high_count, count = row->part.sum.count;
	int64_t average = count ? row->part.sum.sum[signal->main] / count : 0;

	words__say(text, size, "%s of the %s ", words__about(hump->low_count, whole).text,
		   words__number(whole).text);
	signal_words__what(signal, row, text, size);
	words__say(text, size, " took about %s, but %s about %s", words__time(hump->low).text,
		   words__about(hump->high_count, whole).text, words__time(hump->high).text);
	if ((double)average > (double)hump->low * DESCRIBES &&
	    (double)average * DESCRIBES < (double)hump->high)
		words__say(text, size, ": the average of %s describes neither",
			   words__time(average).text);
}

void signal_words__error(int64_t error, char *text, size_t size)
{
	const char *name = error > 0 && error <= INT32_MAX ? strerrorname_np((int)error) : NULL;

	if (name)
		words__say(text, size, "%s", name);
	else
		words__say(text, size, "errno %lld", (long long)error);
}
