/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The notes that the user recorded with --note. */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "model/load.h"

#define MOST_NOTES 1000

/* A note named "token" is a secret because of its name, so name and value are redacted together. */
static int take_note(struct model *model, sqlite3_stmt *row)
{
	const char *name = (const char *)sqlite3_column_text(row, 0);
	const char *value = (const char *)sqlite3_column_text(row, 1);
	enum redact_args how = model->args == REDACT_ALL_ARGS ? REDACT_SECRETS : model->args;
	cleanup(free_p) char *line = NULL, *shown = NULL;
	struct model_note *note;

	if (!name || !value || model->note_count == MOST_NOTES)
		return 0;
	note = APPEND(&model->notes, &model->note_count);
	if (!note || asprintf(&line, "%s=%s", name, value) < 0)
		return -ENOMEM;
	shown = redact__line(line, how);
	if (!shown)
		return -ENOMEM;
	note->name = load__keep(model, name);
	note->value = load__keep(model, strchr(shown, '=') ? strchr(shown, '=') + 1 : shown);
	return note->name && note->value ? 0 : -ENOMEM;
}

int load__notes(struct model *model, sqlite3 *db)
{
	return load__each(model, db,
			  "SELECT substr(key, 6), value FROM meta WHERE key GLOB 'note.?*'"
			  " ORDER BY key",
			  take_note);
}
