/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the files that put windows on the page. */
#pragma once

#include "model/sample.h"
#include "page/html_internal.h"

#define HTML_MOST_WINDOW_SERVICES 40

/* How long a window took among those of its service. */
enum html_band { HTML_BAND_FAST, HTML_BAND_MIDDLE, HTML_BAND_SLOW, HTML_BANDS };

/* How many services are on the page. They are the first ones of the model. */
size_t html_windows__services(const struct model *model);
/* An enum html_band. */
int html_windows__band(const struct windows_service *service, int64_t length_ns);
/* The service and band of a window as one number from 1 on; 0: unknown, or none. */
int32_t html_windows__mark(const struct model *model, const struct windows_one *one);
/* The same for a sample; 0 too if it began when its window had ended. */
int32_t html_windows__mark_sample(const struct model *model, const struct sample *sample);

/* Write members of "windows". Reasons come last: kept windows may add some. */
void html_windows__put_reasons(struct html *html);
int html_windows__put_kept(struct html *html);
