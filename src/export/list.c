#include "export/exporter.h"

const struct exporter *const exporters[] = {
	&export_folded,  &export_pprof,    &export_speedscope, &export_svg,
	&export_firefox, &export_perfetto, &export_chrome,     NULL,
};
