/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Operations on files: their syscalls, and the records that files.bpf.c sends and files.c decodes.
 */
#pragma once

#include "bpf/path.h"
#include "bpf/wire.h"

#define FILES_SYSCALLS   512 /* syscalls with higher numbers are not recorded */
#define FILES_TEXT_BYTES 256

enum files_operation {
	FILES_NONE,
	FILES_READ,
	FILES_WRITE,
	FILES_FSYNC,
	FILES_OPEN,
	FILES_STAT,
	FILES_READDIR,
	FILES_RENAME,
	FILES_UNLINK,
	FILES_MKDIR,
	FILES_TRUNCATE,
	FILES_ALLOCATE,
	FILES_SENDFILE,
	FILES_COPY,
	FILES_OPERATIONS,
};

/* Positions of a call's arguments, counted from 1. */
enum files_shape {
	FILES_FD,         /* descriptor 1 */
	FILES_SIZED,      /* descriptor 1, bytes 3 */
	FILES_SIZED_AT,   /* descriptor 1, bytes 3, offset 4 */
	FILES_VECTOR,     /* descriptor 1, iovec 2, its length 3 */
	FILES_VECTOR_AT,  /* descriptor 1, iovec 2, its length 3, offset 4 */
	FILES_SECOND_FD,  /* descriptor 2, bytes 4: sendfile */
	FILES_FIFTH_SIZE, /* descriptor 1, bytes 5: copy_file_range */
	FILES_PATH,       /* path 1 */
	FILES_PATH_AT,    /* directory 1, path 2 */
};

/* What the call returns. */
enum files_result {
	FILES_STATUS,  /* success or an error only */
	FILES_BYTES,   /* a number of bytes */
	FILES_OPENED,  /* a descriptor */
	FILES_STAT_2,  /* struct stat at argument 2 */
	FILES_STAT_3,  /* struct stat at argument 3 */
	FILES_STATX_5, /* struct statx at argument 5 */
};

struct files_call {
	__u8 operation; /* FILES_NONE: not an operation on files */
	__u8 shape;
	__u8 result;
	__u8 may_miss; /* it reads: pages added to the cache meanwhile are misses */
};

/* The only variable of the section .rodata.files. */
struct files_calls {
	struct files_call of[FILES_SYSCALLS];
};

enum files_record { FILES_NAME = 1, FILES_SLOW };

/*
 * The name of an object, sent when the object is first seen. An object is an inode: { number,
 * device | generation << 32 }; or, if there is no inode, a path: { hash, FILES_BY_PATH }.
 */
#define FILES_BY_PATH 0xffffffff00000000ULL

struct files_name_record {
	struct wire_head head;
	__u64 object[2];
	struct path_names path;      /* of the file, or of the directory where `text` starts */
	char text[FILES_TEXT_BYTES]; /* as passed to the syscall, "" if `path` is complete */
};
_Static_assert(sizeof(struct files_name_record) == 944, "wire format");

#define FILES_NO_OFFSET 0xffffffffffffffffULL

/* A slow operation. */
struct files_slow_record {
	struct wire_head head; /* head.time_ns: when it ended, or a moment later */
	__u64 thread;
	__u64 stack; /* hash of its user stack; 0: none */
	__u64 object[2];
	__u64 duration_ns;
	__u64 asked_bytes;
	__u64 returned_bytes;
	__u64 offset_bytes; /* FILES_NO_OFFSET: none */
	__u32 missed_pages;
	__u32 place;
	__u16 operation;
	__u16 error;
	__u32 pad;
};
_Static_assert(sizeof(struct files_slow_record) == 104, "wire format");
