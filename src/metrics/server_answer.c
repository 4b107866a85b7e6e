/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The answers to requests. They run in the thread of the server. */
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/strbuf.h"
#include "metrics/accept.h"
#include "metrics/server_internal.h"

#define MINUTE_NS    (60 * UINT64_C(1000000000))
#define ANSWER_BYTES 4096
#define PLAIN        "text/plain; charset=utf-8"

/* Takes over the response; NULL: out of memory. */
static enum MHD_Result send_response(struct MHD_Connection *connection, unsigned int status,
				     const char *type, struct MHD_Response *response)
{
	enum MHD_Result rc;

	if (!response)
		return MHD_NO;
	/* One request per connection: no client can hold one without asking for something. */
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
	MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
	rc = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return rc;
}

/* With one more header, if `name` is not NULL. */
static enum MHD_Result say(struct MHD_Connection *connection, unsigned int status, const char *text,
			   const char *name, const char *value)
{
	struct MHD_Response *response =
		MHD_create_response_from_buffer(strlen(text), (void *)text, MHD_RESPMEM_MUST_COPY);

	if (response && name)
		MHD_add_response_header(response, name, value);
	return send_response(connection, status, PLAIN, response);
}

static bool has_certificate(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
	gnutls_typed_vdata_st purpose = {
		.type = GNUTLS_DT_KEY_PURPOSE_OID,
		.data = (unsigned char *)GNUTLS_KP_TLS_WWW_CLIENT,
	};
	unsigned int status = 0;

	return info && info->tls_session &&
	       gnutls_certificate_verify_peers(info->tls_session, &purpose, 1, &status) == 0 &&
	       !status;
}

/* 0, or the status that says what is missing. */
static unsigned int refuse(struct server *server, struct MHD_Connection *connection)
{
	if (credentials__client_ca(server->credentials) && !has_certificate(connection))
		return MHD_HTTP_FORBIDDEN;
	if (credentials__has_token(server->credentials) &&
	    !credentials__knows(server->credentials,
				MHD_lookup_connection_value(connection, MHD_HEADER_KIND,
							    MHD_HTTP_HEADER_AUTHORIZATION)))
		return MHD_HTTP_UNAUTHORIZED;
	return 0;
}

static bool are_too_many(struct server *server)
{
	uint64_t now = clock__now_ns();

	if (now - server->minute_ns >= MINUTE_NS) {
		server->minute_ns = now;
		server->scrapes = 0;
	}
	return ++server->scrapes > server->options.most_scrapes_per_minute;
}

static void count(struct server *server, uint64_t *counter)
{
	pthread_mutex_lock(&server->lock);
	++*counter;
	pthread_mutex_unlock(&server->lock);
}

static void drop_pages(void *pages)
{
	pages__unref(pages);
}

static enum MHD_Result send_page(struct server *server, struct MHD_Connection *connection)
{
	enum pages_format format = accept__format(
		MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT));
	bool is_gzip = accept__gzip(MHD_lookup_connection_value(connection, MHD_HEADER_KIND,
								MHD_HTTP_HEADER_ACCEPT_ENCODING));
	unsigned int page = PAGES_PAGE(format, is_gzip);
	struct MHD_Response *response;
	struct pages *pages;
	const void *bytes;
	size_t size;

	pthread_mutex_lock(&server->lock);
	pages = server->pages ? pages__ref(server->pages) : NULL;
	server->asked_ns[page] = clock__now_ns();
	pthread_mutex_unlock(&server->lock);
	if (!pages)
		return say(connection, MHD_HTTP_SERVICE_UNAVAILABLE,
			   "the first step has not ended yet\n", NULL, NULL);
	response = pages__get(pages, page, &bytes, &size)
			   ? NULL
			   : MHD_create_response_from_buffer_with_free_callback_cls(
				     size, (void *)bytes, drop_pages, pages);
	if (!response) {
		pages__unref(pages);
		return say(connection, MHD_HTTP_SERVICE_UNAVAILABLE, "out of memory\n", NULL, NULL);
	}
	if (is_gzip)
		MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_ENCODING, "gzip");
	MHD_add_response_header(response, MHD_HTTP_HEADER_VARY, "Accept, Accept-Encoding");
	count(server, &server->counts.served);
	return send_response(connection, MHD_HTTP_OK, pages__type(format), response);
}

static enum MHD_Result answer_metrics(struct server *server, struct MHD_Connection *connection)
{
	unsigned int status = refuse(server, connection);

	if (!status && !are_too_many(server))
		return send_page(server, connection);
	count(server, &server->counts.refused);
	if (status == MHD_HTTP_UNAUTHORIZED)
		return say(connection, status, "the bearer token is missing or wrong\n",
			   MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer");
	if (status)
		return say(connection, status, "the client certificate is missing or not trusted\n",
			   NULL, NULL);
	return say(connection, MHD_HTTP_TOO_MANY_REQUESTS, "too many scrapes in a minute\n",
		   MHD_HTTP_HEADER_RETRY_AFTER, "60");
}

/* Milliseconds since the last page, or since the start. */
static uint64_t age_ms(struct server *server)
{
	uint64_t since;

	pthread_mutex_lock(&server->lock);
	since = server->published_ns ? server->published_ns : server->start_ns;
	pthread_mutex_unlock(&server->lock);
	return (clock__now_ns() - since) / 1000000;
}

static enum MHD_Result answer_health(struct server *server, struct MHD_Connection *connection)
{
	uint64_t ms = age_ms(server);
	char text[128];

	if (ms <= server->options.stale_ms)
		return say(connection, MHD_HTTP_OK, "ok\n", NULL, NULL);
	snprintf(text, sizeof(text), "the last step ended %llu s ago\n",
		 (unsigned long long)ms / 1000);
	return say(connection, MHD_HTTP_SERVICE_UNAVAILABLE, text, NULL, NULL);
}

/* All reasons why the agent is not ready, one per line. */
static void list_reasons(struct server *server, struct strbuf *ret)
{
	uint64_t ms = age_ms(server);

	pthread_mutex_lock(&server->lock);
	if (!server->pages)
		strbuf__add(ret, "the first step has not ended yet\n");
	else if (ms > server->options.stale_ms)
		strbuf__add(ret, "the last step ended %llu s ago\n", (unsigned long long)ms / 1000);
	if (server->reasons && *server->reasons)
		strbuf__add(ret, "%s%s", server->reasons,
			    server->reasons[strlen(server->reasons) - 1] == '\n' ? "" : "\n");
	if (*server->problem)
		strbuf__add(ret, "%s\n", server->problem);
	pthread_mutex_unlock(&server->lock);
}

static enum MHD_Result answer_ready(struct server *server, struct MHD_Connection *connection)
{
	char text[ANSWER_BYTES] = "";
	struct strbuf reasons = { text, sizeof(text) };

	list_reasons(server, &reasons);
	if (!*text)
		return say(connection, MHD_HTTP_OK, "ready\n", NULL, NULL);
	if (refuse(server, connection))
		snprintf(text, sizeof(text), "not ready\n");
	return say(connection, MHD_HTTP_SERVICE_UNAVAILABLE, text, NULL, NULL);
}

enum MHD_Result server__answer(void *cls, struct MHD_Connection *connection, const char *url,
			       const char *method, const char *version, const char *upload,
			       size_t *upload_size, void **request)
{
	static const struct {
		const char *path;
		enum MHD_Result (*answer)(struct server *server, struct MHD_Connection *connection);
	} known[] = {
		{ "/metrics", answer_metrics },
		{ "/healthz", answer_health },
		{ "/readyz", answer_ready },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		if (strcmp(url, known[i].path))
			continue;
		if (strcmp(method, MHD_HTTP_METHOD_GET) && strcmp(method, MHD_HTTP_METHOD_HEAD))
			return say(connection, MHD_HTTP_METHOD_NOT_ALLOWED,
				   "only GET is allowed here\n", MHD_HTTP_HEADER_ALLOW,
				   "GET, HEAD");
		return known[i].answer(cls, connection);
	}
	return say(connection, MHD_HTTP_NOT_FOUND, "not found: try /metrics\n", NULL, NULL);
}
