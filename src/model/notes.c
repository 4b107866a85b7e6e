/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The notes that the user recorded with --note, and the figures on quality and cost. */
#include <errno.h>
#include <math.h>
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

static int take_figure(struct model *model, sqlite3_stmt *row, struct model_figure **figures,
		       size_t *count)
{
	struct model_figure *figure = APPEND(figures, count);

	if (!figure)
		return -ENOMEM;
	figure->name = load__name(model, row, 0);
	figure->value = sqlite3_column_double(row, 1);
	if (!(fabs(figure->value) < (double)LOAD_MOST)) /* huge (a hostile file) or NaN */
		figure->value = figure->value < 0 ? -(double)LOAD_MOST : (double)LOAD_MOST;
	figure->words = load__text(model, row, 2);
	figure->remedy = load__text(model, row, 3);
	return 0;
}

static int take_quality(struct model *model, sqlite3_stmt *row)
{
	return take_figure(model, row, &model->qualities, &model->quality_count);
}

static int take_cost(struct model *model, sqlite3_stmt *row)
{
	return take_figure(model, row, &model->costs, &model->cost_count);
}

int load__figures(struct model *model, sqlite3 *db)
{
	bool has_remedy = load__is_answered(db, "SELECT remedy FROM quality");
	int err = load__each(model, db,
			     has_remedy
				     ? "SELECT name, value, bias, remedy FROM quality ORDER BY name"
				     : "SELECT name, value, bias, '' FROM quality ORDER BY name",
			     take_quality);

	return err ? err
		   : load__each(model, db, "SELECT name, value, unit, NULL FROM cost ORDER BY name",
				take_cost);
}
