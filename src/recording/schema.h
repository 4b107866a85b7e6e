/* The tables and views of a recording. For users they are described in gapless-recording(5). */
#pragma once

/* What PRAGMA application_id says of a recording: "gapl". */
#define SCHEMA_APPLICATION_ID 0x6761706c

/* SQL that makes all tables and views in an empty database. */
extern const char schema__sql[];
