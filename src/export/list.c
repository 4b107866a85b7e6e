#include "export/exporter.h"

const struct exporter *const exporters[] = {
	&export_folded,
	&export_firefox,
	&export_perfetto,
	&export_chrome,
	NULL,
};
