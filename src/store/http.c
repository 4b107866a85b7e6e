/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/http.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/map.h"

#define TIMEOUT_S         30
#define CONNECT_TIMEOUT_S 10
#define SECRET_BYTES      4096

struct http {
	struct http_options options; /* with copies of the texts */
	CURLM *multi;
	CURL *easy;
	struct curl_slist *headers;
	char *url; /* of the request */
	bool is_running;
	uint64_t files; /* hash of size and time of the TLS files */
	int (*take)(void *context, const void *bytes, size_t size);
	void *take_context;
	struct answer answer;
};

static void list_free(struct curl_slist **list)
{
	curl_slist_free_all(*list);
}

/* --- secrets --- */

/* A header must not contain line ends, so a secret may only be one line of printable text. */
static int read_secret(const char *path, char ret[static SECRET_BYTES])
{
	cleanup(close_p) int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t length;

	if (fd < 0)
		return -errno;
	length = read(fd, ret, SECRET_BYTES - 1);
	if (length < 0)
		return -errno;
	while (length && isspace((unsigned char)ret[length - 1]))
		length--;
	ret[length] = '\0';
	if (!length || (size_t)length == SECRET_BYTES - 1)
		return -EINVAL;
	for (ssize_t i = 0; i < length; i++)
		if (!isprint((unsigned char)ret[i]))
			return -EINVAL;
	return 0;
}

static int add_header(struct curl_slist **list, const char *name, const char *value)
{
	char line[SECRET_BYTES + 64];
	struct curl_slist *longer;

	snprintf(line, sizeof(line), "%s%s", name, value);
	longer = curl_slist_append(*list, line);
	explicit_bzero(line, sizeof(line));
	if (!longer)
		return -ENOMEM;
	*list = longer;
	return 0;
}

static int add_secret(struct curl_slist **list, const char *name, const char *path)
{
	char secret[SECRET_BYTES];
	int err = read_secret(path, secret);

	err = err ?: add_header(list, name, secret);
	explicit_bzero(secret, sizeof(secret));
	return err;
}

static int make_headers(const struct http *http, const struct http_request *request,
			struct curl_slist **ret)
{
	cleanup(list_free) struct curl_slist *list = NULL;
	const struct http_options *options = &http->options;
	/* Without "Expect:", curl waits for a "100 Continue" that old servers never send. */
	int err = add_header(&list, "Expect:", "");

	if (!err && (request->is_zstd || request->is_gzip))
		err = add_header(&list, "Content-Encoding: ", request->is_zstd ? "zstd" : "gzip");
	if (!err && request->type)
		err = add_header(&list, "Content-Type: ", request->type);
	if (!err && options->user)
		err = add_header(&list, "X-ClickHouse-User: ", options->user);
	if (!err && options->user && options->password_file)
		err = add_secret(&list, "X-ClickHouse-Key: ", options->password_file);
	if (!err && options->user && !options->password_file && options->certificate_file)
		err = add_header(&list, "X-ClickHouse-SSL-Certificate-Auth: on", "");
	if (!err && options->token_file)
		err = add_secret(&list, "Authorization: Bearer ", options->token_file);
	if (err)
		return err;
	*ret = TAKE(list);
	return 0;
}

static uint64_t hash_file(uint64_t hash, const char *path)
{
	struct stat about;

	if (!path || stat(path, &about))
		return map__mix(hash, 0);
	hash = map__mix(hash, (uint64_t)about.st_ino);
	hash = map__mix(hash, (uint64_t)about.st_size);
	hash = map__mix(hash, (uint64_t)about.st_mtim.tv_sec);
	return map__mix(hash, (uint64_t)about.st_mtim.tv_nsec);
}

static uint64_t hash_files(const struct http_options *options)
{
	uint64_t hash = hash_file(0, options->ca_file);

	return hash_file(hash_file(hash, options->certificate_file), options->key_file);
}

/* --- answers --- */

static size_t on_header(const char *line, size_t size, size_t count, void *context)
{
	answer__header(context, line, size * count);
	return size * count;
}

static size_t on_body(const char *bytes, size_t size, size_t count, void *context)
{
	struct http *http = context;
	long status = 0;
	int err;

	size *= count;
	curl_easy_getinfo(http->easy, CURLINFO_RESPONSE_CODE, &status);
	if (http->take && status == 200)
		err = http->take(http->take_context, bytes, size);
	else
		err = answer__body(&http->answer, bytes, size);
	/* Another number than the size ends the transfer. */
	return err ? 0 : size;
}

static int error_of(CURLcode code)
{
	switch (code) {
	case CURLE_OK:
		return 0;
	case CURLE_OPERATION_TIMEDOUT:
		return -ETIMEDOUT;
	case CURLE_COULDNT_RESOLVE_HOST:
	case CURLE_COULDNT_RESOLVE_PROXY:
		return -EHOSTUNREACH;
	case CURLE_COULDNT_CONNECT:
		return -ECONNREFUSED;
	case CURLE_SSL_CONNECT_ERROR:
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CERTPROBLEM:
	case CURLE_SSL_CACERT_BADFILE:
		return -EKEYREJECTED;
	case CURLE_WRITE_ERROR:
		return -EFBIG;
	default:
		return -ECONNRESET;
	}
}

/* Whether a connection was made and the TLS handshake succeeded: only then a request was sent. */
static bool was_connected(CURL *easy)
{
	curl_off_t us = 0;

	return !curl_easy_getinfo(easy, CURLINFO_PRETRANSFER_TIME_T, &us) && us > 0;
}

static int poll_answer(void *context, struct answer *ret)
{
	struct http *http = context;
	const CURLMsg *message = NULL;
	int running, left;
	long status = 0;

	if (!http->is_running)
		return -EAGAIN;
	curl_multi_perform(http->multi, &running);
	while (!message || message->msg != CURLMSG_DONE) {
		message = curl_multi_info_read(http->multi, &left);
		if (!message)
			return -EAGAIN;
	}
	http->answer.error = error_of(message->data.result);
	http->answer.unreached = http->answer.error && !was_connected(http->easy);
	curl_easy_getinfo(http->easy, CURLINFO_RESPONSE_CODE, &status);
	http->answer.status = (int)status;
	curl_multi_remove_handle(http->multi, http->easy);
	http->is_running = false;
	*ret = http->answer;
	return 0;
}

/* --- requests --- */

static int make_easy(struct http *http)
{
	uint64_t files = hash_files(&http->options);

	/* A new handle has no TLS session to resume. */
	if (http->easy && files != http->files) {
		curl_easy_cleanup(http->easy);
		http->easy = NULL;
	}
	http->files = files;
	if (!http->easy)
		http->easy = curl_easy_init();
	if (!http->easy)
		return -ENOMEM;
	/* Keeps sessions. */
	curl_easy_reset(http->easy);
	return 0;
}

static void set_tls(CURL *easy, const struct http_options *options)
{
	curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	if (options->ca_file) {
		curl_easy_setopt(easy, CURLOPT_CAINFO, options->ca_file);
		curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
		/* libcurl 7.87 keeps what it read for a day, in the multi handle. */
		curl_easy_setopt(easy, CURLOPT_CA_CACHE_TIMEOUT, 0L);
	}
	if (options->certificate_file)
		curl_easy_setopt(easy, CURLOPT_SSLCERT, options->certificate_file);
	if (options->key_file)
		curl_easy_setopt(easy, CURLOPT_SSLKEY, options->key_file);
}

static void set_request(struct http *http, const struct http_request *request)
{
	CURL *easy = http->easy;
	long timeout_s = http->options.timeout_s ?: TIMEOUT_S;
	long connect_s = timeout_s < CONNECT_TIMEOUT_S ? timeout_s : CONNECT_TIMEOUT_S;

	set_tls(easy, &http->options);
	curl_easy_setopt(easy, CURLOPT_URL, http->url);
	curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(easy, CURLOPT_PROXY, "");
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, http->options.keeps_connection ? 0L : 1L);
	curl_easy_setopt(easy, CURLOPT_TIMEOUT, timeout_s);
	curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT, connect_s);
	curl_easy_setopt(easy, CURLOPT_HTTPHEADER, http->headers);
	curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(easy, CURLOPT_HEADERDATA, &http->answer);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, http);
	if (!request->body)
		return;
	curl_easy_setopt(easy, CURLOPT_POST, 1L);
	curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body_bytes);
	curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request->body);
}

static int start(void *context, const struct http_request *request)
{
	cleanup(list_free) struct curl_slist *headers = NULL;
	struct http *http = context;
	char *url = NULL;
	int err = make_headers(http, request, &headers);

	err = err ?: make_easy(http);
	if (!err && asprintf(&url, "%s%s%s", http->options.url, request->path ?: "/?",
			     request->path ? "" : request->query) < 0)
		err = -ENOMEM;
	if (err)
		return err;
	free(http->url);
	http->url = url;
	curl_slist_free_all(http->headers);
	http->headers = TAKE(headers);
	memset(&http->answer, 0, offsetof(struct answer, body) + 1);
	http->answer.body_bytes = 0;
	http->take = request->take;
	http->take_context = request->take_context;
	set_request(http, request);
	if (curl_multi_add_handle(http->multi, http->easy))
		return -ENOMEM;
	http->is_running = true;
	return 0;
}

struct http_transport http__transport(struct http *http)
{
	return (struct http_transport) { start, poll_answer, http };
}

void http__wait(struct http *http, unsigned int timeout_ms)
{
	int ready, running;

	/* Transfers have their own deadlines, which only perform() can keep. */
	if (!curl_multi_poll(http->multi, NULL, 0, (int)timeout_ms, &ready))
		curl_multi_perform(http->multi, &running);
}

void http__wake(struct http *http)
{
	curl_multi_wakeup(http->multi);
}

static bool is_good_url(const char *url)
{
	return (!strncasecmp(url, "http://", 7) || !strncasecmp(url, "https://", 8)) &&
	       !strpbrk(url, "@?# \r\n");
}

/* "localhost", 127.x.x.x or [::1] */
static bool is_loopback(const char *url)
{
	const char *host = strstr(url, "://") + 3;
	char text[64];
	struct in_addr four;
	size_t length;

	if (!strncmp(host, "[::1]", 5))
		return !host[5] || strchr(":/", host[5]);
	length = strcspn(host, ":/");
	if (length >= sizeof(text))
		return false;
	memcpy(text, host, length);
	text[length] = '\0';
	return !strcasecmp(text, "localhost") ||
	       (inet_pton(AF_INET, text, &four) == 1 && ntohl(four.s_addr) >> 24 == 127);
}

static bool would_show_secret(const struct http_options *options)
{
	return (options->password_file || options->token_file) && !options->shows_secrets &&
	       !strncasecmp(options->url, "http://", 7) && !is_loopback(options->url);
}

const char *http__problem(int err)
{
	if (err == -EINVAL)
		return "the URL is not valid";
	return err == -EPERM ? "a password or token is sent to other machines with https:// only "
			       "[or store.plain_password: true in the configuration]"
			     : strerror(-err);
}

static int copy_texts(struct http_options *options)
{
	const char **texts[] = { &options->url,           &options->user,
				 &options->password_file, &options->token_file,
				 &options->ca_file,       &options->certificate_file,
				 &options->key_file };
	int err = 0;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		const char *text = *texts[i];

		*texts[i] = text ? strdup(text) : NULL;
		if (text && !*texts[i])
			err = -ENOMEM;
	}
	return err;
}

static void http_free_p(struct http **http)
{
	http__free(*http);
}

int http__new(const struct http_options *options, struct http **ret)
{
	cleanup(http_free_p) struct http *http = NULL;
	size_t length = strlen(options->url);

	if (!is_good_url(options->url) || (options->user && strpbrk(options->user, "\r\n")))
		return -EINVAL;
	if (would_show_secret(options))
		return -EPERM;
	if (curl_global_init(CURL_GLOBAL_DEFAULT))
		return -ENOMEM;
	http = calloc(1, sizeof(*http));
	if (!http)
		return -ENOMEM;
	http->options = *options;
	if (copy_texts(&http->options))
		return -ENOMEM;
	/* Without the '/' at the end. */
	if (options->url[length - 1] == '/')
		((char *)http->options.url)[length - 1] = '\0';
	http->multi = curl_multi_init();
	if (!http->multi)
		return -ENOMEM;
	*ret = TAKE(http);
	return 0;
}

void http__free(struct http *http)
{
	if (!http)
		return;
	if (http->is_running)
		curl_multi_remove_handle(http->multi, http->easy);
	curl_easy_cleanup(http->easy);
	curl_multi_cleanup(http->multi);
	curl_slist_free_all(http->headers);
	free(http->url);
	free((char *)http->options.url);
	free((char *)http->options.user);
	free((char *)http->options.password_file);
	free((char *)http->options.token_file);
	free((char *)http->options.ca_file);
	free((char *)http->options.certificate_file);
	free((char *)http->options.key_file);
	free(http);
}
