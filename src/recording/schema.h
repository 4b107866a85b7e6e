/*
 * What reader.c and writer.c share. The tables and views of a recording are described for users in
 * gapless-recording(5).
 */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>

/* What PRAGMA application_id says of a recording: "gapl". */
#define SCHEMA_APPLICATION_ID 0x6761706c

/* SQL that makes all tables and views in an empty database. */
extern const char schema__sql[];

/*
 * The name of the VFS that every recording is opened with: SQLite's own, less what a folder of
 * somebody else's could turn against us (reader.c says what). NULL if there is no memory for it.
 */
const char *schema__vfs(void);

/* Whether `db`, which has no lock yet, has the very file open that `fd` is, whatever its path says.
 */
bool schema__is_file(sqlite3 *db, int fd);
