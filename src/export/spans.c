#include "export/spans.h"

#include <errno.h>
#include <stdlib.h>

bool spans__next(struct spans *spans, struct span *ret)
{
	const struct profile *profile = spans->profile;

	while (spans->at < profile->account_count) {
		const struct profile_account *account = &profile->accounts[spans->at];
		int64_t begin = account->begin_ns;

		if (!spans->at || account[-1].thread != account->thread)
			spans->free_ns = profile->threads[account->thread].first_ns;
		if (begin < spans->free_ns)
			begin = spans->free_ns;
		spans->at++;
		if (account->ns <= 0)
			continue;
		spans->free_ns = begin + account->ns;
		*ret = (struct span) { account->thread, account->state, begin, account->ns };
		return true;
	}
	return false;
}

int64_t *spans__free_ns(const struct profile *profile)
{
	int64_t *free_ns = calloc(profile->thread_count + 1, sizeof(*free_ns));

	for (size_t i = 0; free_ns && i < profile->thread_count; i++)
		free_ns[i] = profile->start_ns;
	return free_ns;
}

struct span spans__wait(const struct profile_sample *sample, int64_t *free_ns)
{
	int64_t *last_ns = &free_ns[sample->thread], begin_ns = sample->time_ns - sample->wait_ns;

	if (begin_ns < *last_ns)
		begin_ns = *last_ns;
	*last_ns = sample->time_ns;
	return (struct span) { sample->thread, sample->state, begin_ns,
			       sample->time_ns - begin_ns };
}

int spans__used(const struct profile *profile, bool **ret)
{
	bool *used = calloc(profile->thread_count + 1, sizeof(*used));

	if (!used)
		return -ENOMEM;
	for (size_t i = 0; i < profile->sample_count; i++)
		used[profile->samples[i].thread] = true;
	for (size_t i = 0; i < profile->account_count; i++)
		used[profile->accounts[i].thread] = true;
	*ret = used;
	return 0;
}
