/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is known of one HotSpot. The library describes itself: it has tables of its types, their
 * fields and sizes (gHotSpotVMStructs and others), made for debuggers. All offsets come from there,
 * so there is no table by version here. Some fields have other names in other versions.
 */
#pragma once

#include "runtimes/language.h"

/* X(id, is_needed, name, another name of it or NULL). */
#define HOTSPOT_FIELDS(X)                                                                          \
	X(CODE_HEAPS, false, "CodeCache::_heaps", NULL)                                            \
	X(CODE_HEAP, false, "CodeCache::_heap", NULL) /* 8 */                                      \
	X(ARRAY_COUNT, true, "GrowableArrayBase::_len", "GenericGrowableArray::_len")              \
	X(ARRAY_DATA, true, "GrowableArray<int>::_data", NULL)                                     \
	X(HEAP_MEMORY, true, "CodeHeap::_memory", NULL)                                            \
	X(HEAP_SEGMENTS, true, "CodeHeap::_segmap", NULL)                                          \
	X(HEAP_SHIFT, true, "CodeHeap::_log2_segment_size", NULL)                                  \
	X(SPACE_LOW, true, "VirtualSpace::_low_boundary", NULL)                                    \
	X(SPACE_HIGH, true, "VirtualSpace::_high_boundary", NULL)                                  \
	X(INTERPRETER, true, "AbstractInterpreter::_code", NULL)                                   \
	X(QUEUE_BEGIN, true, "StubQueue::_stub_buffer", NULL)                                      \
	X(QUEUE_BYTES, true, "StubQueue::_buffer_limit", NULL)                                     \
	X(CALL_STUB, true, "StubRoutines::_call_stub_return_address", NULL)                        \
	X(RELEASE, true, "Abstract_VM_Version::_s_vm_release", NULL)                               \
	X(BLOB_NAME, true, "CodeBlob::_name", NULL)                                                \
	X(BLOB_HEADER, true, "CodeBlob::_header_size", NULL)                                       \
	X(BLOB_FRAME, true, "CodeBlob::_frame_size", NULL)                                         \
	X(BLOB_COMPLETE, true, "CodeBlob::_frame_complete_offset", NULL)                           \
	X(BLOB_CODE, false, "CodeBlob::_code_begin", NULL)                                         \
	X(BLOB_CODE_OFFSET, false, "CodeBlob::_code_offset", NULL) /* 8, from 23 on */             \
	X(BLOB_DATA_OFFSET, true, "CodeBlob::_data_offset", NULL)                                  \
	X(BLOB_RELOCATION, false, "CodeBlob::_relocation_size", NULL) /* 8, from 23 on */          \
	X(BLOB_MUTABLE, false, "CodeBlob::_mutable_data", NULL)       /* from 25 on */             \
	X(COMPILED_METHOD, true, "CompiledMethod::_method", "nmethod::_method")                    \
	X(COMPILE_ID, true, "nmethod::_compile_id", NULL)                                          \
	X(REAL_PC, true, "nmethod::_orig_pc_offset", NULL)                                         \
	X(DEOPT, false, "CompiledMethod::_deopt_handler_begin", "nmethod::_deopt_handler_begin")   \
	X(DEOPT_OFFSET, false, "nmethod::_deopt_handler_offset", "nmethod::_deoptimize_offset")    \
	X(SCOPES, false, "CompiledMethod::_scopes_data_begin", "nmethod::_scopes_data_begin")      \
	X(SCOPES_OFFSET, false, "nmethod::_scopes_data_offset", NULL) /* 8, from 23 on */          \
	X(PCS_OFFSET, true, "nmethod::_scopes_pcs_offset", NULL)                                   \
	X(PCS_END_OFFSET, false, "nmethod::_dependencies_offset", NULL) /* up to 22 */             \
	X(METADATA_OFFSET, false, "nmethod::_metadata_offset", NULL)    /* up to 24 */             \
	X(IMMUTABLE, false, "nmethod::_immutable_data", NULL)           /* from 23 on */           \
	X(PC_OFFSET, true, "PcDesc::_pc_offset", NULL)                                             \
	X(PC_SCOPE, true, "PcDesc::_scope_decode_offset", NULL)                                    \
	X(METHOD_CONST, true, "Method::_constMethod", NULL)                                        \
	X(CONST_POOL, true, "ConstMethod::_constants", NULL)                                       \
	X(CONST_FLAGS, true, "ConstMethod::_flags", "ConstMethod::_flags._flags")                  \
	X(CONST_CODE_BYTES, true, "ConstMethod::_code_size", NULL)                                 \
	X(CONST_NAME, true, "ConstMethod::_name_index", NULL)                                      \
	X(POOL_HOLDER, true, "ConstantPool::_pool_holder", NULL)                                   \
	X(POOL_FILE, false, "ConstantPool::_source_file_name_index", NULL)                         \
	X(KLASS_FILE, false, "InstanceKlass::_source_file_name_index", NULL) /* up to 15 */        \
	X(KLASS_NAME, true, "Klass::_name", NULL)                                                  \
	X(SYMBOL_BYTES, true, "Symbol::_length", NULL)                                             \
	X(SYMBOL_TEXT, true, "Symbol::_body", NULL)                                                \
	/* Locks; without these, their owners are not known. */                                    \
	X(THREAD_LIST, false, "ThreadsSMRSupport::_java_thread_list", NULL)                        \
	X(LIST_COUNT, false, "ThreadsList::_length", NULL)                                         \
	X(LIST_THREADS, false, "ThreadsList::_threads", NULL)                                      \
	X(FIRST_THREAD, false, "Threads::_thread_list", NULL) /* 8 */                              \
	X(NEXT_THREAD, false, "JavaThread::_next", NULL)      /* 8 */                              \
	X(THREAD_OS, false, "JavaThread::_osthread", "Thread::_osthread")                          \
	X(THREAD_OBJECT, false, "JavaThread::_threadObj", NULL)                                    \
	X(THREAD_VIRTUAL, false, "JavaThread::_vthread", NULL) /* from 21 on */                    \
	X(THREAD_PENDING, false, "JavaThread::_current_pending_monitor",                           \
	  "Thread::_current_pending_monitor")                                                      \
	X(THREAD_WAITING, false, "JavaThread::_current_waiting_monitor",                           \
	  "Thread::_current_waiting_monitor")                                                      \
	X(THREAD_OWNER_ID, false, "JavaThread::_monitor_owner_id", NULL) /* from 24 on */          \
	/* Allocation; without these, it is not known. */                                          \
	X(THREAD_BYTES, false, "Thread::_allocated_bytes", NULL)                                   \
	X(THREAD_BUFFER, false, "Thread::_tlab", NULL)                                             \
	X(BUFFER_BEGIN, false, "ThreadLocalAllocBuffer::_start", NULL)                             \
	X(BUFFER_TOP, false, "ThreadLocalAllocBuffer::_top", NULL)                                 \
	X(OS_TID, false, "OSThread::_thread_id", NULL)                                             \
	X(OS_PTHREAD, false, "OSThread::_pthread_id", NULL)                                        \
	X(MONITOR_OWNER, false, "ObjectMonitor::_owner", NULL)                                     \
	X(MONITOR_OBJECT, false, "ObjectMonitor::_object", NULL)                                   \
	X(OBJECT_CLASS, false,                                                                     \
	  "vmClasses::_klasses[static_cast<int>(vmClassID::Object_klass_knum)]",                   \
	  "SystemDictionary::_well_known_klasses[SystemDictionary::Object_klass_knum]")            \
	X(THREAD_CLASS, false,                                                                     \
	  "vmClasses::_klasses[static_cast<int>(vmClassID::Thread_klass_knum)]",                   \
	  "SystemDictionary::_well_known_klasses[SystemDictionary::Thread_klass_knum]")            \
	X(KLASS_ANCESTORS, false, "Klass::_primary_supers[0]", NULL)                               \
	X(KLASS_DEPTH, false, "Klass::_super_check_offset", NULL)                                  \
	X(KLASS_POOL, false, "InstanceKlass::_constants", NULL)                                    \
	X(KLASS_FIELDS, false, "InstanceKlass::_fields", NULL) /* up to 20 */                      \
	X(KLASS_FIELD_COUNT, false, "InstanceKlass::_java_fields_count", NULL)                     \
	X(KLASS_FIELD_STREAM, false, "InstanceKlass::_fieldinfo_stream", NULL) /* from 21 on */    \
	X(OOP_BASE, false, "CompressedOops::_base", "CompressedOops::_narrow_oop._base")           \
	X(OOP_BASE_8, false, "Universe::_narrow_oop._base", NULL)                                  \
	X(OOP_SHIFT, false, "CompressedOops::_shift", "CompressedOops::_narrow_oop._shift")        \
	X(OOP_SHIFT_8, false, "Universe::_narrow_oop._shift", NULL)                                \
	X(CLASS_BASE, false, "CompressedKlassPointers::_base",                                     \
	  "CompressedKlassPointers::_narrow_klass._base")                                          \
	X(CLASS_BASE_8, false, "Universe::_narrow_klass._base", NULL)                              \
	X(CLASS_SHIFT, false, "CompressedKlassPointers::_shift",                                   \
	  "CompressedKlassPointers::_narrow_klass._shift")                                         \
	X(CLASS_SHIFT_8, false, "Universe::_narrow_klass._shift", NULL)                            \
	X(FLAGS, false, "JVMFlag::flags", "Flag::flags")                                           \
	X(FLAGS_COUNT, false, "JVMFlag::numFlags", "Flag::numFlags")                               \
	X(FLAG_NAME, false, "JVMFlag::_name", "Flag::_name")                                       \
	X(FLAG_AT, false, "JVMFlag::_addr", "Flag::_addr")

/* X(id, name). All are needed but the first two. */
#define HOTSPOT_SIZES(X)                                                                           \
	X(FLAG, "JVMFlag")                                                                         \
	X(FLAG_8, "Flag")                                                                          \
	X(NMETHOD, "nmethod")                                                                      \
	X(PC_DESC, "PcDesc")                                                                       \
	X(CONST_METHOD, "ConstMethod")                                                             \
	X(CONSTANT_POOL, "ConstantPool")                                                           \
	X(HEAP_BLOCK, "HeapBlock")

enum hotspot_field_id {
#define X(id, ...) HOTSPOT_##id,
	HOTSPOT_FIELDS(X)
#undef X
		HOTSPOT_FIELD_COUNT
};

enum hotspot_size_id {
#define X(id, ...) HOTSPOT_SIZE_OF_##id,
	HOTSPOT_SIZES(X)
#undef X
		HOTSPOT_SIZE_COUNT
};

struct hotspot_field {
	uint64_t value; /* the offset, or the address of a static field */
	uint8_t bytes;  /* of an integer; 8 for all else */
	bool is_found;
	bool is_other;  /* by its other name */
	bool is_handle; /* the address of a reference, not the reference */
};

struct hotspot {
	struct hotspot_field fields[HOTSPOT_FIELD_COUNT];
	uint64_t sizes[HOTSPOT_SIZE_COUNT];
	int major; /* of the version; 8, not 1.8 */
};

/* Flags of the command line that change how objects are laid out. */
enum hotspot_flag {
	HOTSPOT_SHORT_OOPS,
	HOTSPOT_SHORT_CLASSES,
	HOTSPOT_COMPACT_HEADERS,
	HOTSPOT_ZGC,
	HOTSPOT_SHENANDOAH,
	HOTSPOT_FLAG_COUNT
};
/* -ENOTSUP: they cannot be read. A flag that a version does not have is false. */
int hotspot__read_flags(struct subject *subject, const struct hotspot *hotspot,
			bool ret[HOTSPOT_FLAG_COUNT]);

/*
 * Reads the tables. -EAGAIN: the library is not relocated yet; -ENOTSUP: something that is needed
 * is missing; -EFAULT.
 */
int hotspot__read_tables(struct subject *subject, struct hotspot *ret);

/* Fills in subject->version and subject->runtime by the tables. Errors as those of open(). */
int hotspot__read_layout(struct subject *subject, struct hotspot *hotspot);

/* Where the file has code. -ENOTSUP: its headers cannot be read. */
int hotspot__find_code(const struct runtime_file *file, uint64_t *ret_begin, uint64_t *ret_end);

/* Reads an integer field of the structure at `address`. */
int hotspot__read_field(struct subject *subject, const struct hotspot *hotspot, uint64_t address,
			enum hotspot_field_id id, uint64_t *ret);

/* See struct language. */
int hotspot__name(struct subject *subject, const struct runtime_frame *frame,
		  struct runtime_names *ret);
/*
 * Makes a class's name one that is the same in each run: without the addresses and the numbers of
 * classes that are made while the program runs. '/' becomes '.'.
 */
void hotspot__tidy_class(char *name);

#define HOTSPOT_MOST_THREADS 4096
/*
 * The addresses of the threads that may run code of Java: the first `most` of the program's list,
 * HOTSPOT_MOST_THREADS at most. *ret_is_cut: there are more. Returns their number, or -EFAULT or
 * -ENOTSUP.
 */
int hotspot__list_threads(struct subject *subject, uint64_t *list, size_t most, bool *ret_is_cut);

/* See struct language. */
int hotspot__read_allocated(struct subject *subject, struct runtime_allocated *ret);

/*
 * Fills in what the kernel half has to know of locks. -EAGAIN: something of it is not there yet;
 * other errors: it will not be.
 */
int hotspot__find_locks(struct subject *subject, struct runtime_java_locks *ret);
