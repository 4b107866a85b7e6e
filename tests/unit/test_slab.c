/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "../harness.h"

#include <errno.h>

#include "signals/registry.h"
#include "signals/slab/slab.h"

static const struct signal *slab(void)
{
	return registry__find("slab", 4);
}

static void operations_have_the_names_of_the_kernels_functions(void **state)
{
	assert_string_equal(slab()->operation(SLAB_KMALLOC), "kmalloc");
	assert_string_equal(slab()->operation(SLAB_CACHE), "kmem_cache_alloc");
	assert_null(slab()->operation(SLAB_OPERATIONS));
}

/* It sends none, so any record is foreign. */
static void decode_refuses_every_record_and_leaves_the_output_alone(void **state)
{
	struct event event = { .thread = 7 };

	assert_int_equal(slab()->decode("x", 1, &event), -EBADMSG);
	assert_int_equal(event.thread, 7);
}

static void it_is_not_recorded_by_default(void **state)
{
	assert_false(slab()->is_default);
	assert_true(slab()->event_ns > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(operations_have_the_names_of_the_kernels_functions),
		cmocka_unit_test(decode_refuses_every_record_and_leaves_the_output_alone),
		cmocka_unit_test(it_is_not_recorded_by_default),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
