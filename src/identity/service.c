/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "identity/service.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "identity/identity.h"
#include "identity/pods.h"
#include "identity/service_internal.h"

#define LABEL "label."

struct condition {
	const char *field, *glob;
};

/* The texts point into `line`. */
struct rule {
	char *line;
	struct condition *conditions;
	size_t condition_count;
	const char *service, *version; /* version: NULL if it has none */
};

struct service_rules {
	struct rule *rules;
	size_t count;
	char **labels; /* ends with NULL, which is counted */
	size_t label_count;
};

static const char *const fields[] = { "cgroup",    "unit",  "namespace", "pod",
				      "container", "image", "process",   NULL };

static void release(struct rule *rule)
{
	free(rule->conditions);
	free(rule->line);
}

void service_rules__free(struct service_rules *rules)
{
	if (!rules)
		return;
	for (size_t i = 0; i < rules->count; i++)
		release(&rules->rules[i]);
	for (size_t i = 0; i < rules->label_count; i++)
		free(rules->labels[i]);
	free(rules->rules);
	free(rules->labels);
	free(rules);
}

/* --- labels --------------------------------------------------------------------------------- */

static int want(struct service_rules *rules, const char *label)
{
	char **end;

	for (size_t i = 0; i + 1 < rules->label_count; i++)
		if (!strcmp(rules->labels[i], label))
			return 0;
	end = APPEND(&rules->labels, &rules->label_count);
	if (!end)
		return -ENOMEM;
	end[-1] = strdup(label);
	if (!end[-1])
		rules->label_count--;
	return end[-1] ? 0 : -ENOMEM;
}

int service_rules__new(struct service_rules **ret)
{
	struct service_rules *rules = calloc(1, sizeof(*rules));
	char **end;

	if (!rules)
		return -ENOMEM;
	end = APPEND(&rules->labels, &rules->label_count);
	if (!end || want(rules, SERVICE_LABEL_NAME) || want(rules, SERVICE_LABEL_VERSION) ||
	    want(rules, SERVICE_LABEL_HASH)) {
		service_rules__free(rules);
		return -ENOMEM;
	}
	*ret = rules;
	return 0;
}

const char *const *service_rules__labels(const struct service_rules *rules)
{
	return (const char *const *)rules->labels;
}

/* --- fields --------------------------------------------------------------------------------- */

static bool is_label(const char *field)
{
	return !strncmp(field, LABEL, strlen(LABEL)) && field[strlen(LABEL)];
}

static bool is_field(const char *field)
{
	for (const char *const *known = fields; *known; known++)
		if (!strcmp(*known, field))
			return true;
	return is_label(field);
}

/* "" if it is unknown. */
static const char *value_of(const struct service_facts *facts, const char *field)
{
	const char *const values[] = { facts->cgroup, facts->unit,      facts->namespace_name,
				       facts->pod,    facts->container, facts->image,
				       facts->process };
	const char *label = NULL;

	for (size_t i = 0; fields[i]; i++)
		if (!strcmp(fields[i], field))
			return values[i];
	if (facts->kubernetes)
		label = pods__label(facts->kubernetes, field + strlen(LABEL));
	return label ? label : "";
}

/* --- parsing -------------------------------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static int refuse(char *ret_error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(ret_error, SERVICE_ERROR_BYTES, format, args);
	va_end(args);
	identity__clean(ret_error);
	return -EINVAL;
}

static int check_field(const char *field, char *ret_error)
{
	const char *nearest;

	if (is_field(field))
		return 0;
	nearest = parse__nearest(field, fields);
	if (nearest)
		return refuse(ret_error, "unknown field '%s' (did you mean '%s'?)", field, nearest);
	return refuse(ret_error,
		      "unknown field '%s' (cgroup, unit, namespace, pod, container, image, process "
		      "or label.NAME)",
		      field);
}

/* Copies the name between the braces at `from`. */
static int read_brace(const char *from, char ret[SERVICE_TEXT_BYTES], char *ret_error)
{
	const char *end = strchr(from, '}');

	if (!end)
		return refuse(ret_error, "'{' without '}' in '%s'", from);
	if ((size_t)(end - from) > SERVICE_TEXT_BYTES)
		return refuse(ret_error, "a field of more than %d characters in braces",
			      SERVICE_TEXT_BYTES - 1);
	snprintf(ret, SERVICE_TEXT_BYTES, "%.*s", (int)(end - from - 1), from + 1);
	return check_field(ret, ret_error);
}

static int want_field(struct service_rules *rules, const char *field)
{
	return is_label(field) ? want(rules, field + strlen(LABEL)) : 0;
}

static int check_text(struct service_rules *rules, const char *name, const char *text,
		      char *ret_error)
{
	char field[SERVICE_TEXT_BYTES];
	int err = 0;

	if (!*text)
		return refuse(ret_error, "no text after '%s='", name);
	for (const char *at = strchr(text, '{'); !err && at; at = strchr(at + 1, '{')) {
		err = read_brace(at, field, ret_error);
		if (!err)
			err = want_field(rules, field);
	}
	return err;
}

static int take_condition(struct service_rules *rules, struct rule *rule, char *word,
			  char *ret_error)
{
	struct condition *condition;
	char *equals = strchr(word, '=');
	int err;

	if (!equals)
		return refuse(ret_error, "'%s' is not FIELD=GLOB", word);
	*equals = '\0';
	err = check_field(word, ret_error);
	if (!err)
		err = want_field(rules, word);
	if (err)
		return err;
	if (!equals[1])
		return refuse(ret_error, "no pattern after '%s=' ('*' matches any text)", word);
	condition = APPEND(&rule->conditions, &rule->condition_count);
	if (!condition)
		return -ENOMEM;
	*condition = (struct condition) { word, equals + 1 };
	return 0;
}

static int take_result(struct service_rules *rules, struct rule *rule, const char *word,
		       char *ret_error)
{
	static const char service[] = "service=", version[] = "version=";
	const char **to;

	if (!strncmp(word, service, strlen(service)))
		to = &rule->service;
	else if (!strncmp(word, version, strlen(version)))
		to = &rule->version;
	else
		return refuse(ret_error, "'%s' after '->' is neither service=TEXT nor version=TEXT",
			      word);
	if (*to)
		return refuse(ret_error, "'%.7s' twice", word);
	*to = word + strlen(service);
	return check_text(rules, to == &rule->service ? "service" : "version", *to, ret_error);
}

static int parse(struct service_rules *rules, struct rule *rule, char *ret_error)
{
	bool is_behind = false;
	char *rest = NULL;
	int err = 0;

	for (char *word = strtok_r(rule->line, " \t", &rest); !err && word;
	     word = strtok_r(NULL, " \t", &rest)) {
		if (strcmp(word, "->"))
			err = is_behind ? take_result(rules, rule, word, ret_error)
					: take_condition(rules, rule, word, ret_error);
		else if (is_behind)
			err = refuse(ret_error, "'->' twice");
		else
			is_behind = true;
	}
	if (err)
		return err;
	if (!is_behind)
		return refuse(ret_error, "no '->' (FIELD=GLOB -> service=TEXT)");
	if (!rule->condition_count)
		return refuse(ret_error, "no FIELD=GLOB before '->'");
	if (!rule->service)
		return refuse(ret_error, "no service=TEXT after '->'");
	return 0;
}

int service_rules__add(struct service_rules *rules, const char *line,
		       char ret_error[SERVICE_ERROR_BYTES])
{
	struct rule rule = { .line = strdup(line) }, *added;
	int err = rule.line ? parse(rules, &rule, ret_error) : -ENOMEM;

	if (!err && rules->count == SERVICE_MOST_RULES) {
		refuse(ret_error, "more than %d rules", SERVICE_MOST_RULES);
		err = -E2BIG;
	}
	if (err) {
		release(&rule);
		return err;
	}
	added = APPEND(&rules->rules, &rules->count);
	if (!added) {
		release(&rule);
		return -ENOMEM;
	}
	*added = rule;
	return 0;
}

/* --- naming --------------------------------------------------------------------------------- */

static bool matches(const struct rule *rule, const struct service_facts *facts)
{
	for (size_t i = 0; i < rule->condition_count; i++) {
		const char *value = value_of(facts, rule->conditions[i].field);

		if (!*value || fnmatch(rule->conditions[i].glob, value, 0))
			return false;
	}
	return true;
}

static void expand(const char *text, const struct service_facts *facts,
		   char ret[SERVICE_TEXT_BYTES])
{
	struct strbuf to = { ret, SERVICE_TEXT_BYTES };
	char field[SERVICE_TEXT_BYTES], no_error[SERVICE_ERROR_BYTES];

	*ret = '\0';
	while (*text) {
		size_t length = strcspn(text, "{");

		strbuf__add(&to, "%.*s", (int)length, text);
		text += length;
		if (!*text || read_brace(text, field, no_error))
			break;
		strbuf__add(&to, "%s", value_of(facts, field));
		text = strchr(text, '}') + 1;
	}
}

void service_rules__name(const struct service_rules *rules, const struct service_facts *facts,
			 char ret_service[SERVICE_TEXT_BYTES], char ret_version[SERVICE_TEXT_BYTES])
{
	*ret_service = *ret_version = '\0';
	for (size_t i = 0; rules && !*ret_service && i < rules->count; i++) {
		const struct rule *rule = &rules->rules[i];

		if (!matches(rule, facts))
			continue;
		expand(rule->service, facts, ret_service);
		if (*ret_service && rule->version)
			expand(rule->version, facts, ret_version);
	}
	if (!*ret_service)
		service_default__name(facts, ret_service);
	if (!*ret_version)
		service_default__version(facts, ret_version);
	identity__clean(ret_service);
	identity__clean(ret_version);
}
