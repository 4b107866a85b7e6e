/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The answer goes from the socket into a pods_reader, so its size does not matter for memory. Each
 * request has a handle of its own: requests are rare, and an idle TLS connection would need more
 * memory than the pods.
 */
#include "identity/kubelet.h"

#include <curl/curl.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/strbuf.h"
#include "base/threads.h"
#include "identity/identity.h"
#include "identity/pods.h"

#define SECOND_NS        UINT64_C(1000000000)
#define EVERY_NS         (10 * SECOND_NS)
#define TIMEOUT_NS       (10 * SECOND_NS)
#define CONNECT_MS       3000L
#define MOST_BACKOFF_NS  (60 * SECOND_NS)
#define MOST_TOKEN_BYTES 16384

struct kubelet {
	char *url, *token_file, *ca_file;
	char **labels;
	bool no_verify;
	uint64_t every_ns, timeout_ns;
	pthread_t thread;
	pthread_mutex_t lock; /* of all below */
	pthread_cond_t changed;
	bool is_asked, is_over;
	struct pods *answer;
	struct kubelet_quality quality;
	char error[KUBELET_ERROR_BYTES];
};

/* One request. */
struct request {
	struct kubelet *kubelet;
	CURL *curl;
	struct curl_slist *headers;
	struct pods_reader *reader;
	int err; /* of the reader */
	char detail[CURL_ERROR_SIZE];
};

/* --- the URL -------------------------------------------------------------------------------- */

/* Adds the value of the variable at `from`, which is "${NAME}", and returns the rest; NULL: none.
 */
static const char *add_variable(struct strbuf *to, const char *from)
{
	const char *end = strchr(from, '}'), *value;
	char name[128];

	if (!end || (size_t)(end - from) >= sizeof(name))
		return NULL;
	snprintf(name, sizeof(name), "%.*s", (int)(end - from - 2), from + 2);
	value = getenv(name);
	if (!value || !*value)
		return NULL;
	/* An address of version 6 needs brackets. */
	strbuf__add(to, strchr(value, ':') && *value != '[' ? "[%s]" : "%s", value);
	return end + 1;
}

int kubelet__expand(const char *url, char ret[KUBELET_URL_BYTES])
{
	char text[KUBELET_URL_BYTES] = "";
	struct strbuf to = { text, sizeof(text) };

	while (url && *url) {
		const char *variable = strstr(url, "${");

		strbuf__add(&to, "%.*s", (int)(variable ? variable - url : (long)strlen(url)), url);
		if (!variable)
			break;
		url = add_variable(&to, variable);
		if (!url)
			return -ENOENT;
	}
	if (to.length == sizeof(text) - 1)
		return -ENAMETOOLONG;
	memcpy(ret, text, sizeof(text));
	return 0;
}

/* --- a request ------------------------------------------------------------------------------ */

static size_t take_bytes(char *bytes, size_t size, size_t count, void *context)
{
	struct request *request = context;

	request->err = pods_reader__feed(request->reader, bytes, size * count);
	return request->err ? 0 : size * count;
}

static bool is_over(struct kubelet *kubelet)
{
	bool over;

	pthread_mutex_lock(&kubelet->lock);
	over = kubelet->is_over;
	pthread_mutex_unlock(&kubelet->lock);
	return over;
}

/* libcurl calls this at least once a second; not 0 ends the transfer. */
static int watch(void *context, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
	const struct request *request = context;

	return is_over(request->kubelet);
}

static bool is_this_machine(const char *url)
{
	return !strncmp(url, "http://127.0.0.1:", 17) || !strncmp(url, "http://[::1]:", 13);
}

static bool is_encrypted(const char *url)
{
	return !strncmp(url, "https://", 8);
}

/* Adds the token to the headers. */
static int add_token(struct request *request)
{
	static const char header[] = "Authorization: Bearer ";
	char text[sizeof(header) + MOST_TOKEN_BYTES];
	size_t length = strlen(header), got;
	cleanup(fclose_p) FILE *file = fopen(request->kubelet->token_file, "re");

	if (!file)
		return -errno;
	memcpy(text, header, length);
	got = fread(text + length, 1, MOST_TOKEN_BYTES, file);
	text[length + got] = '\0';
	text[length + strcspn(text + length, " \t\r\n")] = '\0';
	request->headers = curl_slist_append(NULL, text);
	explicit_bzero(text, sizeof(text));
	return request->headers ? 0 : -ENOMEM;
}

static void set_options(struct request *request)
{
	const struct kubelet *kubelet = request->kubelet;
	CURL *curl = request->curl;

	curl_easy_setopt(curl, CURLOPT_URL, kubelet->url);
	curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(curl, CURLOPT_HTTPHEADER, request->headers);
	/* The token must not go anywhere else. */
	curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(curl, CURLOPT_PROXY, "");
	curl_easy_setopt(curl, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	if (kubelet->ca_file)
		curl_easy_setopt(curl, CURLOPT_CAINFO, kubelet->ca_file);
	if (kubelet->no_verify) {
		curl_easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, 0L);
		curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, 0L);
	}
	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(curl, CURLOPT_FAILONERROR, 1L);
	curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS);
	curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)(kubelet->timeout_ns / 1000000));
	curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, request->detail);
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_bytes);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, request);
	curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
	curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, watch);
	curl_easy_setopt(curl, CURLOPT_XFERINFODATA, request);
}

static void release(struct request *request)
{
	curl_slist_free_all(request->headers);
	if (request->curl)
		curl_easy_cleanup(request->curl);
	pods_reader__free(request->reader);
}

/* Notes why a request failed. */
static void fail(struct kubelet *kubelet, const char *why, int err, long status)
{
	pthread_mutex_lock(&kubelet->lock);
	kubelet->quality.failures++;
	kubelet->quality.refused += status == 401 || status == 403;
	kubelet->quality.too_large += err == -E2BIG;
	kubelet->quality.malformed += err == -EBADMSG;
	snprintf(kubelet->error, sizeof(kubelet->error), "%s", why);
	identity__clean(kubelet->error);
	pthread_mutex_unlock(&kubelet->lock);
}

static int prepare(struct request *request)
{
	const struct kubelet *kubelet = request->kubelet;
	int err = kubelet->token_file ? add_token(request) : 0;

	if (err) {
		snprintf(request->detail, sizeof(request->detail), "cannot read '%s': %s",
			 kubelet->token_file, strerror(-err));
		return err;
	}
	request->curl = curl_easy_init();
	err = request->curl
		      ? pods_reader__new((const char *const *)kubelet->labels, &request->reader)
		      : -ENOMEM;
	if (err)
		snprintf(request->detail, sizeof(request->detail), "%s", strerror(-err));
	else
		set_options(request);
	return err;
}

static const char *words_for(const struct request *request, CURLcode code)
{
	if (request->err == -E2BIG)
		return "the answer is too large or too deep";
	if (request->err == -EBADMSG)
		return "the answer is not a list of pods, or is not complete";
	if (request->err)
		return strerror(-request->err);
	return *request->detail ? request->detail : curl_easy_strerror(code);
}

static bool ask(struct kubelet *kubelet)
{
	cleanup(release) struct request request = { .kubelet = kubelet };
	struct pods *pods = NULL;
	CURLcode code = CURLE_OK;
	long status = 0;
	int err = prepare(&request);

	if (err) {
		fail(kubelet, request.detail, 0, 0);
		return false;
	}
	code = curl_easy_perform(request.curl);
	curl_easy_getinfo(request.curl, CURLINFO_RESPONSE_CODE, &status);
	if (code == CURLE_OK)
		request.err = pods_reader__finish(request.reader, &pods);
	if (code != CURLE_OK || request.err) {
		fail(kubelet, words_for(&request, code), request.err, status);
		return false;
	}
	pthread_mutex_lock(&kubelet->lock);
	pods__free(kubelet->answer);
	kubelet->answer = pods;
	kubelet->quality.pods = pods__count(pods);
	kubelet->quality.skipped = pods__skipped(pods);
	kubelet->error[0] = '\0';
	pthread_mutex_unlock(&kubelet->lock);
	return true;
}

/* --- the thread ----------------------------------------------------------------------------- */

/* Waits until somebody asks, or for a time. Returns whether the thread must end. */
static bool wait_until(struct kubelet *kubelet, uint64_t until_ns, bool for_question)
{
	struct timespec until = { .tv_sec = (time_t)(until_ns / SECOND_NS),
				  .tv_nsec = (long)(until_ns % SECOND_NS) };
	bool over;
	int err = 0;

	pthread_mutex_lock(&kubelet->lock);
	while (!kubelet->is_over && (for_question ? !kubelet->is_asked : !err)) {
		if (for_question)
			pthread_cond_wait(&kubelet->changed, &kubelet->lock);
		else
			err = pthread_cond_timedwait(&kubelet->changed, &kubelet->lock, &until);
	}
	over = kubelet->is_over;
	pthread_mutex_unlock(&kubelet->lock);
	return over;
}

static void *run(void *context)
{
	struct kubelet *kubelet = context;
	uint64_t pause_ns = kubelet->every_ns;

	while (!wait_until(kubelet, 0, true)) {
		bool is_answered;

		pthread_mutex_lock(&kubelet->lock);
		/* A question that comes during the request may need a newer answer. */
		kubelet->is_asked = false;
		kubelet->quality.requests++;
		pthread_mutex_unlock(&kubelet->lock);
		is_answered = ask(kubelet);
		if (is_answered)
			pause_ns = kubelet->every_ns;
		else
			kubelet__ask(kubelet);
		if (wait_until(kubelet, clock__now_ns() + pause_ns, false))
			break;
		if (!is_answered)
			pause_ns = 2 * pause_ns < MOST_BACKOFF_NS ? 2 * pause_ns : MOST_BACKOFF_NS;
	}
	return NULL;
}

/* --- the interface -------------------------------------------------------------------------- */

static void release_all(struct kubelet *kubelet)
{
	if (!kubelet)
		return;
	for (char **label = kubelet->labels; label && *label; label++)
		free(*label);
	free(kubelet->labels);
	free(kubelet->url);
	free(kubelet->token_file);
	free(kubelet->ca_file);
	pods__free(kubelet->answer);
	pthread_cond_destroy(&kubelet->changed);
	pthread_mutex_destroy(&kubelet->lock);
	free(kubelet);
}
DEFINE_CLEANUP(struct kubelet *, release_all)

static bool is_set(const char *text)
{
	return text && *text;
}

static bool copy(const char *text, char **ret)
{
	*ret = is_set(text) ? strdup(text) : NULL;
	return !is_set(text) || *ret;
}

static bool copy_labels(const char *const *labels, char ***ret)
{
	size_t count = 0;

	while (labels && labels[count])
		count++;
	*ret = calloc(count + 1, sizeof(**ret));
	for (size_t i = 0; *ret && i < count; i++)
		if (!copy(labels[i], &(*ret)[i]))
			return false;
	return *ret;
}

int kubelet__new(const struct kubelet_settings *settings, struct kubelet **ret)
{
	cleanup(release_all_p) struct kubelet *kubelet = NULL;
	char url[KUBELET_URL_BYTES];
	pthread_condattr_t clock;
	int err = kubelet__expand(settings->url, url);

	if (err)
		return err;
	if (!is_encrypted(url) && strncmp(url, "http://", 7) != 0)
		return -EINVAL;
	if (is_set(settings->token_file) && !is_encrypted(url) && !is_this_machine(url))
		return -EPERM;
	kubelet = calloc(1, sizeof(*kubelet));
	if (!kubelet)
		return -ENOMEM;
	pthread_mutex_init(&kubelet->lock, NULL);
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&kubelet->changed, &clock);
	pthread_condattr_destroy(&clock);
	kubelet->no_verify = settings->no_verify;
	kubelet->every_ns = settings->every_ns ? settings->every_ns : EVERY_NS;
	kubelet->timeout_ns = settings->timeout_ns ? settings->timeout_ns : TIMEOUT_NS;
	if (!copy(url, &kubelet->url) || !copy(settings->token_file, &kubelet->token_file) ||
	    !copy(settings->ca_file, &kubelet->ca_file) ||
	    !copy_labels(settings->labels, &kubelet->labels) ||
	    curl_global_init(CURL_GLOBAL_DEFAULT))
		return -ENOMEM;
	err = threads__start(run, kubelet, &kubelet->thread);
	if (err)
		return err;
	*ret = TAKE(kubelet);
	return 0;
}

void kubelet__free(struct kubelet *kubelet)
{
	if (!kubelet)
		return;
	pthread_mutex_lock(&kubelet->lock);
	kubelet->is_over = true;
	pthread_cond_signal(&kubelet->changed);
	pthread_mutex_unlock(&kubelet->lock);
	pthread_join(kubelet->thread, NULL);
	release_all(kubelet);
	curl_global_cleanup();
}

void kubelet__ask(struct kubelet *kubelet)
{
	pthread_mutex_lock(&kubelet->lock);
	kubelet->is_asked = true;
	pthread_cond_signal(&kubelet->changed);
	pthread_mutex_unlock(&kubelet->lock);
}

struct pods *kubelet__take(struct kubelet *kubelet)
{
	struct pods *answer;

	pthread_mutex_lock(&kubelet->lock);
	answer = TAKE(kubelet->answer);
	pthread_mutex_unlock(&kubelet->lock);
	return answer;
}

void kubelet__quality(struct kubelet *kubelet, struct kubelet_quality *ret,
		      char ret_error[KUBELET_ERROR_BYTES])
{
	pthread_mutex_lock(&kubelet->lock);
	*ret = kubelet->quality;
	memcpy(ret_error, kubelet->error, sizeof(kubelet->error));
	pthread_mutex_unlock(&kubelet->lock);
}
