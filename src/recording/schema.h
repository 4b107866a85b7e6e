/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shared by reader.c and writer.c. The tables and views of a recording are described for users in
 * gapless-recording(5).
 */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>

/* PRAGMA application_id of a recording: "gapl". */
#define SCHEMA_APPLICATION_ID 0x6761706c

/* SQL that creates all tables and views in an empty database. */
extern const char schema__sql[];

/*
 * The name of the VFS with which every recording is opened: SQLite's own, without the operations
 * that the owner of the folder could abuse (see reader.c). NULL if out of memory.
 */
const char *schema__vfs(void);

/*
 * Whether `db`, which must have no lock yet, has the same file open as `fd`, whatever the path
 * says.
 */
bool schema__is_file(sqlite3 *db, int fd);
