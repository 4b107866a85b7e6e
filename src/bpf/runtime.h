/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the walk has to know of a process with a language runtime, and how it keeps track of the
 * runtime's frames. User space finds out (src/runtimes) and adds it to struct unwind_process.
 *
 * Frames of a runtime are of two kinds. Those of an interpreter lie beside the native stack: the
 * program's functions are a list in its memory, and the native stack has one frame of the
 * interpreter's loop for some of them (Python, Ruby, PHP). Those of generated code lie on the
 * native stack, but no file has rows for them (HotSpot, V8). Both are one step of the same loop.
 */
#pragma once

#include <linux/types.h>

#include "vocabulary/runtimes.h"

#define RUNTIME_AREAS 6

/* Offsets in the structures of Go. */
struct runtime_go {
	__s32 g; /* from the thread pointer to the pointer to g; 0: unknown */
	__u16 g_m, m_curg, g_id;
	__u8 pad[6];
};

/* Offsets in the structures of CPython, 3.8 to 3.14. */
struct runtime_python {
	__u64 gil;             /* address of struct _gil_runtime_state; 0: unknown */
	__u16 slot;            /* from the thread pointer to the pointer to the thread's state */
	__u16 slot_block;      /* nonzero: first follow the pointer there; `slot` is from it */
	__u16 thread_frame;    /* in the thread's state: pointer to the current frame, … */
	__u16 cframe_frame;    /* … or to a cframe, which has that pointer here */
	__u16 cframe_previous; /* 3.11 */
	__u16 frame_code, frame_previous, frame_position, frame_owner;
	__u16 code_name;        /* of the name: tells a reused address */
	__u16 code_first_line;  /* 32 bits; 0: the code is the interpreter's own */
	__u16 thread_native_id; /* number of the thread, or its pthread_t, … */
	__u16 pthread_tid;      /* … in which the number is here */
	__u8 has_cframe;
	__u8 minor;          /* of the version */
	__u8 position_bytes; /* 4: an index; 8: a pointer into the code */
	__u8 has_owner;      /* one native frame runs several functions, up to a boundary */
	__u8 is_shim;        /* the frame at the boundary is not a function of the program */
	__u8 least_owner;    /* frames from this value of `owner` on are boundaries */
	__u8 most_owner;     /* up to this one */
	__u8 tagged;         /* the pointer to the code has flags in its two lowest bits */
	__u8 frame_bytes;    /* to read of a frame, at most 112 */
	__u8 code_bytes;     /* to read of the code, from the first line on, at most 112 */
	__u8 pad[4];
	__u64 state; /* address of _PyRuntime */
	__u64 interpreter;
};

enum java_flags {
	JAVA_SHORT_OOPS = 1,     /* references have 32 bits */
	JAVA_SHORT_CLASSES = 2,  /* likewise the class of an object */
	JAVA_THREAD_HANDLE = 4,  /* a JavaThread has the address of the reference to its Thread */
	JAVA_MONITOR_HANDLE = 8, /* likewise a monitor of that to its object */
};

/*
 * Whom a thread of Java waits for. The C++ object of a thread (JavaThread) is in a variable of the
 * thread's own, in the block of variables whose address is at `block` in the table that the second
 * word of the thread pointer leads to. References are (value << shift) + base.
 */
struct runtime_java_locks {
	__u64 oop_base, class_base;
	__u64 kind;         /* a JavaThread of the program begins with this */
	__u64 synchronizer; /* the class AbstractOwnableSynchronizer; 0: unknown */
	__u32 block;        /* 0: nothing of this is known */
	__u16 in_block;
	__u16 pending, waiting, os_thread; /* in a JavaThread */
	__u16 own_object;                  /* likewise: its Thread */
	__u16 tid;                         /* in an OSThread */
	__u16 owner, object;               /* in a monitor; owner 0: it cannot be told */
	__u16 blocker, java_thread;        /* in a Thread: parkBlocker, eetop */
	__u16 exclusive;                   /* in a synchronizer: exclusiveOwnerThread */
	__u16 ancestor;                    /* in a class: the one as deep as `synchronizer` */
	__u8 oop_shift, class_shift;
	__u8 flags; /* enum java_flags */
	__u8 pad;
};

/* Offsets in the structures of HotSpot, and what the walk has to know of its heaps of code. */
struct runtime_hotspot {
	__u64 low, high;       /* of all heaps */
	__u64 vm_low, vm_high; /* of the code of libjvm.so */
	__u64 call_stub;       /* the return address there */
	__u64 barrier;         /* where threads wait for the end of a safepoint; 0: unknown */
	__u64 segment_maps[RUNTIME_AREAS];
	__u16 code_begin, frame_size, frame_complete, header_bytes, blob_name; /* in a blob */
	__u16 compile_id, deopt_handler, real_pc; /* in the blob of a method */
	__u16 method_bytes;                       /* what header_bytes is for a method */
	__u16 method_const;                       /* in a Method: pointer to its ConstMethod */
	__u16 const_bytes;                        /* the bytecode is behind it */
	__u8 shift;                               /* log2 of the bytes of a segment */
	__u8 block_bytes;                         /* from the first segment to the blob */
	__u8 bytecode_word; /* its address in a frame, from 64 bytes below the frame pointer on */
	__u8 is_relative;   /* code_begin and deopt_handler are offsets from the blob */
	__u8 is_short;      /* header_bytes and frame_complete have 2 bytes, otherwise 4 */
	__u8 pad[5];
	struct runtime_java_locks locks;
};

/* Offsets in the objects of V8, 9.4 to 13.6. */
struct runtime_v8 {
	__u16 function_shared; /* in a JSFunction: the SharedFunctionInfo */
	__u16 flags_word;      /* in a SharedFunctionInfo, from its data on: flags and number */
	__u16 bytecode_type;   /* the type of a BytecodeArray */
	__u8 pad[2];
};

/*
 * What a frame of V8 is. In the cookie: two bits of it, twelve of the number of the function, and
 * the upper sixteen of the address of compiled code, whose lower ones are the position.
 */
enum v8_kind {
	V8_IS_INTERPRETED = 1, /* position: of the bytecode, as the interpreter counts */
	V8_IS_COMPILED, /* the address may be that of another function's code by now, or −1 */
	V8_IS_CODE,     /* the object is an address of code, and the function is not known */
};
#define V8_COOKIE(kind, id, address)                                                               \
	((kind) | ((__u32)(id) & 0xfff) << 2 | (__u32)((__u64)(address) >> 32 & 0xffff) << 14)
#define V8_COOKIE_KIND(cookie)  ((cookie) & 3)
#define V8_COOKIE_ID(cookie)    ((cookie) >> 2 & 0xfff)
#define V8_COOKIE_UPPER(cookie) ((cookie) >> 14 & 0xffff)

/*
 * CRuby, 3.1 to 3.4. A thread has the address of its execution context in a variable of its own,
 * `from_thread` bytes from the thread pointer; or, if `block` is nonzero, `in_block` bytes from the
 * block of variables whose address is at `block` in the table that the thread pointer's second word
 * leads to.
 */
struct runtime_ruby {
	__s64 from_thread;
	__u64 in_block;
	__u32 block;
	__u32 frame_bytes; /* from one control frame to the next */
};

/* PHP, 8.2 to 8.5, without threads. */
struct runtime_php {
	__u64 current; /* address of the pointer to the current frame */
};

/*
 * `areas`: for an interpreter, the code of its loop; for generated code, where it is. Each runtime
 * says what is in which. Unused areas are 0.
 */
struct runtime {
	__u8 kind; /* enum runtime_kind; RUNTIME_NONE: none is known */
	__u8 pad[7];
	struct {
		__u64 begin, end;
	} areas[RUNTIME_AREAS];
	union {
		struct runtime_python python;
		struct runtime_hotspot hotspot;
		struct runtime_go go;
		struct runtime_v8 v8;
		struct runtime_ruby ruby;
		struct runtime_php php;
		__u64 room[27];
	};
};
_Static_assert(sizeof(struct runtime) == 320, "shared by both halves");

enum unwind_mode {
	UNWIND_NATIVE,
	UNWIND_BESIDE, /* in the frames of an interpreter */
};

/* How far a walk has come in the runtime's frames. Zero at the start, but for `thread_pointer`. */
struct unwind_beside {
	__u64 thread_pointer; /* of the thread-local variables; 0: unknown */
	__u64 frame;          /* the interpreter's next frame; 0: none */
	__u64 entry;          /* Python 3.11: the cframe; Ruby: the end of the list */
	__u64 held;           /* the native frame that is added after the interpreter's */
	__u64 low, high;      /* where the native frame is on the stack */
	__u64 undo_frame, undo_hash;
	__u32 undo_count;
	__u8 mode;         /* enum unwind_mode */
	__u8 has_begun;    /* `frame` is valid */
	__u8 ends;         /* the native walk is over */
	__u8 loose;        /* the native walk failed: what is left of the list is added */
	__u8 tag;          /* HotSpot: of a segment */
	__u8 area;         /* which of the runtime's has the native frame */
	__u8 paired;       /* Ruby: the caller of this native frame has no functions of its own */
	__u64 blob;        /* HotSpot: its address */
	__u64 scratch[66]; /* what is read, because the stack is small */
};
