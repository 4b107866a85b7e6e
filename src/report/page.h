/* Between the files that print the report for a person. */
#pragma once

#include "report/model.h"

#define PAGE_LINE         2048
#define PAGE_TIME         -10
#define PAGE_SHARE        -8
#define PAGE_BLAME_INDENT (-PAGE_TIME - PAGE_SHARE + 11 + 2)
#define PAGE_FIELD        13

struct page {
	FILE *out;
	int width;
	const struct model *model;
	const struct report_options *options;
};

/* How many of `count` rows are printed, `usual` unless --top says otherwise. */
size_t page__shown(const struct page *page, size_t count, size_t usual);
void page__heading(const struct page *page, const char *words);
/* "… 12 more waits [--top]" */
void page__rest(const struct page *page, size_t left, const char *what);
void page__wrap(const struct page *page, const char *text, int indent);
/* The name of a line in the last part. */
void page__field(const struct page *page, const char *name);

/* What samples add: hot functions, the call paths of a wait, how good they are. */
void page__hot(const struct page *page);
void page__paths(const struct page *page, const struct model_blame *blame);
void page__samples(const struct page *page);
/* What signals counted. */
void page__signals(const struct page *page);
/* Its table of operations. */
void page__operations(const struct page *page, const struct signals_signal *signal);
