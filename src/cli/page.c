#include "cli/page.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "report/html.h"
#include "report/words.h"

bool page__is_recording(const char *path, const char *output)
{
	struct stat first, second;

	if (stat(path, &first) || stat(output, &second) || first.st_dev != second.st_dev ||
	    first.st_ino != second.st_ino)
		return false;
	log_error("'%s' is a recording itself [--html another name]",
		  words__clean(output, WORDS_MOST_COLUMNS).text);
	return true;
}

/* Writes and closes. Whose fault an error is, the recording's or the file's, is said here. */
static int write_and_close(const char *path, const struct report_options *options,
			   const char *output, FILE *out)
{
	int err, why;

	errno = 0;
	err = html__write(path, options, out);
	why = ferror(out) && errno ? -errno : -EIO;
	if (fclose(out) && (!err || err == -EIO)) {
		err = -EIO;
		why = errno ? -errno : why;
	}
	if (err == -EIO)
		log_error("cannot write '%s': %s", words__clean(output, WORDS_MOST_COLUMNS).text,
			  strerror(-why));
	else if (err)
		log_error("'%s': %s", words__clean(path, WORDS_MOST_COLUMNS).text,
			  report__why(err));
	return err;
}

/* Whole or not at all, and for its owner alone, like the recording whose names are in it. */
static int write_file(const char *path, const struct report_options *options, const char *output)
{
	cleanup(free_p) char *temporary = NULL;
	FILE *out;
	int fd, err;

	if (asprintf(&temporary, "%s.XXXXXX", output) < 0) {
		temporary = NULL;
		return -ENOMEM;
	}
	fd = mkostemp(temporary, O_CLOEXEC);
	out = fd < 0 ? NULL : fdopen(fd, "w");
	if (!out) {
		log_error("cannot write '%s': %s", words__clean(output, WORDS_MOST_COLUMNS).text,
			  strerror(errno));
		if (fd >= 0)
			close(fd);
		return -EIO;
	}
	err = write_and_close(path, options, output, out);
	if (!err && rename(temporary, output)) {
		err = -errno;
		log_error("cannot write '%s': %s", words__clean(output, WORDS_MOST_COLUMNS).text,
			  strerror(errno));
	}
	if (err)
		unlink(temporary);
	return err;
}

/* A device or a pipe has no name to take over. */
static int write_stream(const char *path, const struct report_options *options, const char *output)
{
	int fd = open(output, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	FILE *out = fd < 0 ? NULL : fdopen(fd, "w");

	if (out)
		return write_and_close(path, options, output, out);
	log_error("cannot write '%s': %s", words__clean(output, WORDS_MOST_COLUMNS).text,
		  strerror(errno));
	if (fd >= 0)
		close(fd);
	return -EIO;
}

int page__write(const char *path, const struct report_options *options, const char *output)
{
	struct stat info;
	int err;

	if (!html__is_built()) {
		log_error("this gapless was built without the page [meson setup -Dui=enabled, "
			  "which needs Node; or 'gapless report' for the text]");
		return 1;
	}
	if (page__is_recording(path, output))
		return 1;
	if (!strcmp(output, "-")) {
		err = html__write(path, options, stdout);
		if (err)
			log_error("'%s': %s", words__clean(path, WORDS_MOST_COLUMNS).text,
				  report__why(err));
		return err ? 1 : 0;
	}
	err = !stat(output, &info) && !S_ISREG(info.st_mode) ? write_stream(path, options, output)
							     : write_file(path, options, output);
	if (!err)
		log_info("the page is in '%s'", words__clean(output, WORDS_MOST_COLUMNS).text);
	return err ? 1 : 0;
}
