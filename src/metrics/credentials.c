/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "metrics/credentials.h"

#include <errno.h>
#include <fcntl.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/cleanup.h"

#define MOST_FILE_BYTES (1 << 20)
#define LEAST_TOKEN     16
#define MOST_TOKEN      4096
#define HASH_BYTES      32
#define SCHEME          "Bearer "

/* The identity of a file and of its content. */
struct stamp {
	dev_t device;
	ino_t inode;
	off_t size;
	struct timespec modified, changed;
};

enum { CERTIFICATE, KEY, CLIENT_CA, TOKEN, FILES };

struct credentials {
	char *texts[FILES];
	struct stamp stamps[FILES];
	unsigned char token_hash[HASH_BYTES];
	int64_t expires_s;
};

static const char *path_of(const struct credentials_files *files, int which)
{
	const char *const paths[] = { files->certificate, files->key, files->client_ca,
				      files->token };

	return paths[which];
}

static void forget(char *text)
{
	if (text)
		explicit_bzero(text, strlen(text));
	free(text);
}

void credentials__free(struct credentials *credentials)
{
	if (!credentials)
		return;
	for (int i = 0; i < FILES; i++)
		forget(credentials->texts[i]);
	explicit_bzero(credentials->token_hash, HASH_BYTES);
	free(credentials);
}
DEFINE_CLEANUP(struct credentials *, credentials__free)

static struct stamp stamp_of(const struct stat *stat)
{
	return (struct stamp) { stat->st_dev, stat->st_ino, stat->st_size, stat->st_mtim,
				stat->st_ctim };
}

static bool is_same_time(struct timespec a, struct timespec b)
{
	return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

static bool is_same(const struct stamp *a, const struct stamp *b)
{
	return a->device == b->device && a->inode == b->inode && a->size == b->size &&
	       is_same_time(a->modified, b->modified) && is_same_time(a->changed, b->changed);
}

/* *ret is terminated. */
static int read_text(int fd, size_t size, char **ret)
{
	cleanup(free_p) char *text = calloc(1, size + 1);
	size_t at = 0;
	ssize_t got;

	if (!text)
		return -ENOMEM;
	while (at < size) {
		got = read(fd, text + at, size - at);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got ? -errno : -ESTALE;
		at += (size_t)got;
	}
	if (strlen(text) != size)
		return -EBADMSG;
	*ret = TAKE(text);
	return 0;
}

static int read_file(struct credentials *credentials, int which, const char *path, char *message)
{
	cleanup(close_p) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat stat;
	int err;

	if (fd < 0 || fstat(fd, &stat)) {
		err = -errno;
		snprintf(message, CREDENTIALS_MESSAGE_BYTES, "cannot read '%s': %s", path,
			 strerror(-err));
		return err;
	}
	if (!S_ISREG(stat.st_mode) || stat.st_size > MOST_FILE_BYTES) {
		snprintf(message, CREDENTIALS_MESSAGE_BYTES,
			 "'%s' is not a regular file of at most 1 MB", path);
		return -EINVAL;
	}
	if ((which == KEY || which == TOKEN) && stat.st_mode & (S_IROTH | S_IWOTH)) {
		snprintf(message, CREDENTIALS_MESSAGE_BYTES,
			 "others can read or change '%s' [chmod o= it]", path);
		return -EPERM;
	}
	err = read_text(fd, (size_t)stat.st_size, &credentials->texts[which]);
	if (err)
		snprintf(message, CREDENTIALS_MESSAGE_BYTES, "cannot read '%s': %s", path,
			 strerror(-err));
	credentials->stamps[which] = stamp_of(&stat);
	return err;
}

static int hash(const char *text, unsigned char ret[HASH_BYTES])
{
	return gnutls_hash_fast(GNUTLS_DIG_SHA256, text, strlen(text), ret) ? -EIO : 0;
}

static int take_token(struct credentials *credentials, const char *path, char *message)
{
	char *token = credentials->texts[TOKEN];
	size_t length = strcspn(token, "\r\n"), end = length + strspn(token + length, "\r\n");

	if (token[end] || length < LEAST_TOKEN || length > MOST_TOKEN) {
		snprintf(message, CREDENTIALS_MESSAGE_BYTES,
			 "'%s' is not one line of %d to %d characters", path, LEAST_TOKEN,
			 MOST_TOKEN);
		return -EINVAL;
	}
	token[length] = 0;
	for (size_t i = 0; i < length; i++)
		if (token[i] <= ' ' || token[i] > '~') {
			snprintf(message, CREDENTIALS_MESSAGE_BYTES,
				 "'%s' has characters that a header cannot have", path);
			return -EINVAL;
		}
	return hash(token, credentials->token_hash);
}

static gnutls_datum_t datum(char *text)
{
	return (gnutls_datum_t) { (unsigned char *)text, (unsigned int)strlen(text) };
}

static int expiry(char *text, int64_t *ret)
{
	gnutls_datum_t pem = datum(text);
	gnutls_x509_crt_t certificate;
	int rc = gnutls_x509_crt_init(&certificate);

	if (rc)
		return rc;
	rc = gnutls_x509_crt_import(certificate, &pem, GNUTLS_X509_FMT_PEM);
	if (!rc)
		*ret = gnutls_x509_crt_get_expiration_time(certificate);
	gnutls_x509_crt_deinit(certificate);
	return rc;
}

/* The library that serves would only say that it cannot start. */
static int check_tls(struct credentials *credentials, const struct credentials_files *files,
		     char *message)
{
	gnutls_datum_t certificate = datum(credentials->texts[CERTIFICATE]);
	gnutls_datum_t key = datum(credentials->texts[KEY]), ca;
	gnutls_certificate_credentials_t test;
	const char *path = files->certificate;
	int rc = gnutls_certificate_allocate_credentials(&test);

	if (rc)
		return -ENOMEM;
	rc = gnutls_certificate_set_x509_key_mem(test, &certificate, &key, GNUTLS_X509_FMT_PEM);
	if (rc >= 0)
		rc = expiry(credentials->texts[CERTIFICATE], &credentials->expires_s);
	if (rc >= 0 && credentials->texts[CLIENT_CA]) {
		ca = datum(credentials->texts[CLIENT_CA]);
		path = files->client_ca;
		rc = gnutls_certificate_set_x509_trust_mem(test, &ca, GNUTLS_X509_FMT_PEM);
		if (!rc)
			rc = GNUTLS_E_NO_CERTIFICATE_FOUND;
	}
	gnutls_certificate_free_credentials(test);
	if (rc >= 0)
		return 0;
	snprintf(message, CREDENTIALS_MESSAGE_BYTES, "cannot use '%s'%s%s: %s", path,
		 path == files->certificate ? " with the key " : "",
		 path == files->certificate ? files->key : "", gnutls_strerror(rc));
	return -EINVAL;
}

int credentials__read(const struct credentials_files *files,
		      char message[CREDENTIALS_MESSAGE_BYTES], struct credentials **ret)
{
	cleanup(credentials__free_p) struct credentials *credentials =
		calloc(1, sizeof(*credentials));
	int err = credentials ? 0 : -ENOMEM;

	for (int i = 0; !err && i < FILES; i++)
		if (path_of(files, i))
			err = read_file(credentials, i, path_of(files, i), message);
	if (!err && files->token)
		err = take_token(credentials, files->token, message);
	if (!err && files->certificate)
		err = check_tls(credentials, files, message);
	if (err)
		return err;
	*ret = TAKE(credentials);
	return 0;
}

bool credentials__changed(const struct credentials *credentials,
			  const struct credentials_files *files)
{
	for (int i = 0; i < FILES; i++) {
		const char *path = path_of(files, i);
		struct stamp now = {};
		struct stat status;

		if (!path)
			continue;
		if (!stat(path, &status))
			now = stamp_of(&status);
		if (!is_same(&now, &credentials->stamps[i]))
			return true;
	}
	return false;
}

const char *credentials__certificate(const struct credentials *credentials)
{
	return credentials->texts[CERTIFICATE];
}

const char *credentials__key(const struct credentials *credentials)
{
	return credentials->texts[KEY];
}

const char *credentials__client_ca(const struct credentials *credentials)
{
	return credentials->texts[CLIENT_CA];
}

bool credentials__has_token(const struct credentials *credentials)
{
	return credentials->texts[TOKEN] != NULL;
}

bool credentials__knows(const struct credentials *credentials, const char *authorization)
{
	unsigned char given[HASH_BYTES];

	if (!authorization || strncasecmp(authorization, SCHEME, strlen(SCHEME)))
		return false;
	/* Hashes have the same length, so not even the length of the token shows. */
	if (hash(authorization + strlen(SCHEME), given))
		return false;
	return !gnutls_memcmp(given, credentials->token_hash, HASH_BYTES);
}

int64_t credentials__expires_s(const struct credentials *credentials)
{
	return credentials->expires_s;
}
