/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * States, causes, kinds and evidences are words of the vocabulary, not enums: a version that adds a
 * word needs no migration.
 *
 * There are no views at insert time. They made inserts two to seven times as expensive, and a
 * repeated insert would be counted twice in their sums on servers whose views do not know tokens.
 * The sums of an hour are made once, ten minutes after it. An hour that is made again replaces
 * itself (ReplacingMergeTree), so read these tables with FINAL. Of several sums, the one of the
 * most rows wins: not the last one, because a replica that is behind may make its sums last.
 *
 * Every table that adds up has a window for tokens (gapless-store(7), DELIVERY). The others replace
 * rows by key, so a repeated insert changes nothing.
 */
#include "store/schema_text.h"

#define WORD   " LowCardinality(String) CODEC(ZSTD(1))"
#define NUMBER " CODEC(T64, ZSTD(1))"
#define WHO                                                                                        \
	"  bucket DateTime CODEC(DoubleDelta, ZSTD(1)),\n"                                         \
	"  tenant LowCardinality(String) $tenant CODEC(ZSTD(1)),\n"
#define SERVICE                                                                                    \
	"  service" WORD ",\n"                                                                     \
	"  version" WORD ",\n"                                                                     \
	"  host_id UInt64 CODEC(ZSTD(1)),\n"
#define STATE                                                                                      \
	"  state" WORD ",\n"                                                                       \
	"  cause" WORD ",\n"                                                                       \
	"  kind" WORD ",\n"
#define HOUR                                                                                       \
	"  hour DateTime CODEC(DoubleDelta, ZSTD(1)),\n"                                           \
	"  tenant LowCardinality(String) CODEC(ZSTD(1)),\n"                                        \
	"  service" WORD ",\n"                                                                     \
	"  version" WORD ",\n"
#define CREATE(table) "CREATE TABLE IF NOT EXISTS $db." table "$on\n(\n"
#define DROP_PARTS(days)                                                                           \
	"TTL bucket + INTERVAL " days " DAY\n"                                                     \
	"SETTINGS ttl_only_drop_parts = 1, $window;\n\n"

#define META                                                                                       \
	"CREATE DATABASE IF NOT EXISTS $db$on;\n\n" CREATE(                                        \
		"meta") "  version UInt32,\n"                                                      \
			"  applied DateTime DEFAULT now()\n"                                       \
			") ENGINE = $everywhere{meta:MergeTree}\n"                                 \
			"ORDER BY version;\n\n"

#define LEDGER                                                                                     \
	CREATE("ledger")                                                                           \
	WHO SERVICE "  workload_id UInt64 CODEC(ZSTD(1)),\n"                                       \
		    "  threads" WORD ",\n" STATE "  object" WORD ",\n"                             \
		    "  by_service" WORD ",\n"                                                      \
		    "  by_threads" WORD ",\n"                                                      \
		    "  evidence" WORD ",\n"                                                        \
		    "  ns UInt64" NUMBER ",\n"                                                     \
		    "  count UInt32" NUMBER ",\n"                                                  \
		    "  thread_ns UInt64" NUMBER ",\n"                                              \
		    "  unexplained_ns UInt64" NUMBER "\n"                                          \
		    ") ENGINE = $engine{ledger:MergeTree}\n"                                       \
		    "PARTITION BY toDate(bucket)\n"                                                \
		    "ORDER BY (tenant, service, bucket, state, cause, host_id)\n" DROP_PARTS("14")

#define SAMPLES                                                                                    \
	CREATE("samples")                                                                          \
	WHO SERVICE "  workload_id UInt64 CODEC(ZSTD(1)),\n" STATE                                 \
		    "  stack UInt64 CODEC(ZSTD(1)),\n"                                             \
		    "  waker_stack UInt64 CODEC(ZSTD(1)),\n"                                       \
		    "  ns UInt64" NUMBER ",\n"                                                     \
		    "  ns2 Float32 CODEC(ZSTD(1)),\n"                                              \
		    "  n UInt32" NUMBER "\n"                                                       \
		    ") ENGINE = $engine{samples:MergeTree}\n"                                      \
		    "PARTITION BY toDate(bucket)\n"                                                \
		    "ORDER BY (tenant, service, bucket, state, stack)\n" DROP_PARTS("3")

#define HISTOGRAMS                                                                                 \
	CREATE("histograms")                                                                       \
	WHO SERVICE                                                                                \
		"  signal" WORD ",\n"                                                              \
		"  measure" WORD ",\n"                                                             \
		"  place" WORD ",\n"                                                               \
		"  operation" WORD ",\n"                                                           \
		"  buckets SimpleAggregateFunction(sumMap, Map(UInt16, UInt64)) CODEC(ZSTD(1)),\n" \
		"  sum SimpleAggregateFunction(sum, UInt64) CODEC(ZSTD(1)),\n"                     \
		"  max SimpleAggregateFunction(max, UInt64) CODEC(ZSTD(1))\n"                      \
		") ENGINE = $engine{histograms:AggregatingMergeTree}\n"                            \
		"PARTITION BY toDate(bucket)\n"                                                    \
		"ORDER BY (tenant, service, signal, measure, place, operation, bucket, version, "  \
		"host_id)\n" DROP_PARTS("14")

#define QUALITY                                                                                    \
	CREATE("quality")                                                                          \
	WHO "  host_id UInt64 CODEC(ZSTD(1)),\n"                                                   \
	    "  name" WORD ",\n"                                                                    \
	    "  value UInt64" NUMBER "\n"                                                           \
	    ") ENGINE = $engine{quality:MergeTree}\n"                                              \
	    "PARTITION BY toDate(bucket)\n"                                                        \
	    "ORDER BY (tenant, name, bucket, host_id)\n" DROP_PARTS("14")

#define WORKLOAD                                                                                   \
	CREATE("workload")                                                                         \
	"  tenant LowCardinality(String) $tenant,\n"                                               \
	"  service LowCardinality(String),\n"                                                      \
	"  workload_id UInt64,\n"                                                                  \
	"  cluster LowCardinality(String),\n"                                                      \
	"  host String,\n"                                                                         \
	"  host_id UInt64,\n"                                                                      \
	"  version LowCardinality(String),\n"                                                      \
	"  namespace LowCardinality(String),\n"                                                    \
	"  pod String,\n"                                                                          \
	"  container LowCardinality(String),\n"                                                    \
	"  container_id String,\n"                                                                 \
	"  cgroup String,\n"                                                                       \
	"  unit LowCardinality(String),\n"                                                         \
	"  image LowCardinality(String),\n"                                                        \
	"  kernel LowCardinality(String),\n"                                                       \
	"  machine LowCardinality(String),\n"                                                      \
	"  cpus UInt16,\n"                                                                         \
	"  labels Map(LowCardinality(String), String),\n"                                          \
	"  first_seen DateTime,\n"                                                                 \
	"  last_seen DateTime\n"                                                                   \
	") ENGINE = $engine{workload:ReplacingMergeTree:last_seen}\n"                              \
	"ORDER BY (tenant, service, workload_id)\n"                                                \
	"TTL last_seen + INTERVAL 35 DAY;\n\n"

#define CODE                                                                                                                        \
	CREATE("stacks")                                                                                                            \
	"  stack UInt64 CODEC(ZSTD(1)),\n"                                                                                          \
	"  modules Array(UInt64) CODEC(ZSTD(1)),\n"                                                                                 \
	"  offsets Array(UInt64) CODEC(ZSTD(1)),\n"                                                                                 \
	"  last_seen Date CODEC(ZSTD(1))\n"                                                                                         \
	") ENGINE = $engine{stacks:ReplacingMergeTree:last_seen}\n"                                                                 \
	"ORDER BY stack\n"                                                                                                          \
	"TTL last_seen + INTERVAL 35 DAY;\n\n" CREATE(                                                                              \
		"modules") "  module UInt64,\n"                                                                                     \
			   "  build_id String,\n"                                                                                   \
			   "  kind LowCardinality(String),\n"                                                                       \
			   "  path String,\n"                                                                                       \
			   "  size UInt64,\n"                                                                                       \
			   "  first_seen Date,\n"                                                                                   \
			   "  last_seen DateTime\n"                                                                                 \
			   ") ENGINE = $engine{modules:ReplacingMergeTree:last_seen}\n"                                             \
			   "ORDER BY module;\n\n" CREATE(                                                                           \
				   "symbols") "  module UInt64,\n"                                                                  \
					      "  offset UInt64 CODEC(Delta, ZSTD(1)),\n"                                            \
					      "  functions Array(LowCardinality(String)) CODEC(ZSTD(1)),\n"                         \
					      "  files Array(LowCardinality(String)) CODEC(ZSTD(1)),\n"                             \
					      "  lines Array(UInt32) CODEC(ZSTD(1)),\n"                                             \
					      "  ver DateTime\n"                                                                    \
					      ") ENGINE = $engine{symbols:ReplacingMergeTree:ver}\n"                                \
					      "ORDER BY (module, offset);\n\n" CREATE(                                              \
						      "symbols_state") "  module UInt64,\n"                                         \
								       "  symbols LowCardinality(String),\n"                        \
								       "  ver DateTime\n"                                           \
								       ") ENGINE = $engine{symbols_state:ReplacingMergeTree:ver}\n" \
								       "ORDER BY module;\n\n"

#define BUDGET                                                                                     \
	CREATE("budget")                                                                           \
	"  tenant LowCardinality(String),\n"                                                       \
	"  service LowCardinality(String),\n"                                                      \
	"  probability Float32,\n"                                                                 \
	"  since DateTime,\n"                                                                      \
	"  until DateTime,\n"                                                                      \
	"  burst UInt8,\n"                                                                         \
	"  ver DateTime\n"                                                                         \
	") ENGINE = $everywhere{budget:ReplacingMergeTree:ver}\n"                                  \
	"ORDER BY (tenant, service, burst > 0);\n\n"

#define HOURLY                                                                                     \
	CREATE("ledger_1h")                                                                        \
	HOUR "  threads" WORD ",\n" STATE "  object" WORD ",\n"                                    \
	     "  by_service" WORD ",\n"                                                             \
	     "  by_threads" WORD ",\n"                                                             \
	     "  evidence" WORD ",\n"                                                               \
	     "  ns UInt64" NUMBER ",\n"                                                            \
	     "  count UInt64" NUMBER ",\n"                                                         \
	     "  thread_ns UInt64" NUMBER ",\n"                                                     \
	     "  unexplained_ns UInt64" NUMBER ",\n"                                                \
	     "  hosts UInt32,\n"                                                                   \
	     "  rows UInt64\n"                                                                     \
	     ") ENGINE = $engine{ledger_1h:ReplacingMergeTree:rows}\n"                             \
	     "PARTITION BY toYYYYMM(hour)\n"                                                       \
	     "ORDER BY (tenant, service, hour, state, cause, kind, version, threads, object, "     \
	     "by_service, by_threads, evidence)\n"                                                 \
	     "TTL hour + INTERVAL 400 DAY;\n\n" CREATE("ledger_host_1h") HOUR                      \
		"  host_id UInt64 CODEC(ZSTD(1)),\n" STATE "  ns UInt64" NUMBER ",\n"              \
		"  count UInt64" NUMBER ",\n"                                                      \
		"  thread_ns UInt64" NUMBER ",\n"                                                  \
		"  rows UInt64\n"                                                                  \
		") ENGINE = $engine{ledger_host_1h:ReplacingMergeTree:rows}\n"                     \
		"PARTITION BY toDate(hour)\n"                                                      \
		"ORDER BY (tenant, service, hour, state, cause, kind, version, host_id)\n"         \
		"TTL hour + INTERVAL 35 DAY\n"                                                     \
		"SETTINGS ttl_only_drop_parts = 1;\n\n" CREATE("samples_1h") HOUR STATE            \
		"  stack UInt64 CODEC(ZSTD(1)),\n"                                                 \
		"  ns UInt64" NUMBER ",\n"                                                         \
		"  ns2 Float64 CODEC(ZSTD(1)),\n"                                                  \
		"  n UInt64" NUMBER ",\n"                                                          \
		"  hosts UInt32,\n"                                                                \
		"  rows UInt64\n"                                                                  \
		") ENGINE = $engine{samples_1h:ReplacingMergeTree:rows}\n"                         \
		"PARTITION BY toYYYYMM(hour)\n"                                                    \
		"ORDER BY (tenant, service, hour, state, cause, kind, version, stack)\n"           \
		"TTL hour + INTERVAL 100 DAY;\n\n"

#define SUM_OF(table, columns, values)                                                             \
	"SELECT toStartOfHour(bucket) AS hour, " columns ",\n"                                     \
	"  " values ", count() AS rows\n"                                                          \
	"FROM $db." table " AS l\n"                                                                \
	"WHERE bucket >= $from AND bucket < $until\n"                                              \
	"GROUP BY hour, " columns

const struct schema_rollup schema_rollups[] = {
	{ "ledger_1h",
	  SUM_OF("ledger",
		 "tenant, service, version, threads, state, cause, kind, object, by_service, "
		 "by_threads, evidence",
		 "sum(l.ns) AS ns, sum(l.count) AS count, sum(l.thread_ns) AS thread_ns, "
		 "sum(l.unexplained_ns) AS unexplained_ns, uniqExact(host_id) AS hosts") },
	{ "ledger_host_1h",
	  SUM_OF("ledger", "tenant, service, version, host_id, state, cause, kind",
		 "sum(l.ns) AS ns, sum(l.count) AS count, sum(l.thread_ns) AS thread_ns") },
	{ "samples_1h", SUM_OF("samples", "tenant, service, version, state, cause, kind, stack",
			       "sum(l.ns) AS ns, sum(toFloat64(l.ns2)) AS ns2, sum(l.n) AS n, "
			       "uniqExact(host_id) AS hosts") },
};
const size_t schema_rollup_count = sizeof(schema_rollups) / sizeof(*schema_rollups);

#define REFRESH(name)                                                                              \
	"CREATE MATERIALIZED VIEW IF NOT EXISTS $db." name "_refresh$on\n"                         \
	"REFRESH EVERY 1 HOUR OFFSET 10 MINUTE RANDOMIZE FOR 5 MINUTE APPEND TO $db." name         \
	" EMPTY AS\n"                                                                              \
	"$rollup{" name "};\n\n"

const struct schema_step schema_steps[] = {
	{ 1,
	  META LEDGER SAMPLES HISTOGRAMS QUALITY WORKLOAD CODE BUDGET HOURLY REFRESH("ledger_1h")
		  REFRESH("ledger_host_1h") REFRESH(
			  "samples_1h") "$all{ledger:host_id}$all{samples:host_id}$all{histograms:host_id}"
					"$all{quality:host_id}$all{workload:host_id}$all{stacks:stack}"
					"$all{modules:module}$all{symbols:module}$all{symbols_state:module}"
					"$all{ledger_1h:rand()}$all{ledger_host_1h:host_id}$all{samples_1h:rand()}" },
};
const size_t schema_step_count = sizeof(schema_steps) / sizeof(*schema_steps);
