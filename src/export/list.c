/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/exporter.h"

#define ADDRESS(name) &export_##name,
const struct exporter *const exporters[] = { EACH_EXPORTER(ADDRESS) NULL };
