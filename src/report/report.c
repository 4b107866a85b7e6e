#include "report/report.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "report/model.h"
#include "report/print.h"

int report__print(const char *path, const struct report_options *options, FILE *out)
{
	cleanup(model__release) struct model model = {};
	int err = model__load(path, options, &model);

	if (err)
		return err;
	err = options->json ? print__json(&model, options, out) : print__text(&model, options, out);
	return err || fflush(out) || ferror(out) ? -EIO : 0;
}

const char *report__why(int err)
{
	switch (-err) {
	case ENOENT:
		return "there is no such recording [make one with 'sudo gapless record']";
	case EACCES:
	case EPERM:
		return "not readable for you [a recording belongs to whoever made it: sudo]";
	case EISDIR:
		return "a folder, not a recording";
	case EBADMSG:
		return "not a recording, or a damaged one";
	case E2BIG:
		return "it has more call paths than can be held in memory";
	case EPROTONOSUPPORT:
		return "made by a newer gapless than this one [update]";
	case EBUSY:
		return "being written just now [try again]";
	case ENOKEY:
		return "--busy or --idle names a cause that this recording does not have [see "
		       "'gapless query RECORDING \"SELECT cause FROM state\"']";
	case ERANGE:
		return "--from and --to leave nothing of this recording";
	default:
		return strerror(-err);
	}
}
