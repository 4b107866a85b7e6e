#include "export/spans.h"

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
