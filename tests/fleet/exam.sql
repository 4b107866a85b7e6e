-- Ten minutes of six services as agents at level 0 report them, on three hosts: the cases that 'gapless fleet where' must
-- explain. host 3 went silent after five minutes. Replaced: @NOW, the end of the last minute.
INSERT INTO gapless.workload (tenant, service, workload_id, cluster, host, host_id, version, namespace, pod, container, container_id, cgroup, unit, image, kernel, machine, cpus, labels, first_seen, last_seen)
SELECT '', arrayJoin(['quota', 'postgres', 'disk', 'client', 'server', 'busy']) AS s, cityHash64(s, number), 'c1', concat('host-', toString(number + 1)), number + 1, concat('v', toString(number % 2)), '', '', '', '', '', '', '', '6.1', 'x86_64', 8, map(), toDateTime(@NOW - 7200), number = 2 ? toDateTime(@NOW - 300) : toDateTime(@NOW)
FROM numbers(3);
INSERT INTO gapless.quality (bucket, tenant, host_id, name, value)
SELECT toDateTime(@NOW - 600 + intDiv(number, 3) * 60), '', number % 3 + 1, 'agent_cpu_ns', 1000000
FROM numbers(30) WHERE NOT (number % 3 = 2 AND intDiv(number, 3) >= 5);
INSERT INTO gapless.quality (bucket, tenant, host_id, name, value) VALUES (toDateTime(@NOW - 600), '', 1, 'lost_map_full', 12), (toDateTime(@NOW - 600), '', 1, 'repaired_wakeups', 3);
-- Each row: service, threads, state, cause, kind, object, by_service, by_threads, evidence, ms a minute. The first of a service has its thread time.
INSERT INTO gapless.ledger (bucket, tenant, service, version, host_id, workload_id, threads, state, cause, kind, object, by_service, by_threads, evidence, ns, count, thread_ns, unexplained_ns)
SELECT toDateTime(@NOW - 600 + m * 60), '', r.1, concat('v', toString((h - 1) % 2)), h, cityHash64(r.1, h - 1), r.2, r.3, r.4, r.5, r.6, r.7, r.8, r.9, r.10 * 1000000, 10, r.11 * 1000000, 0
FROM (SELECT number % 10 AS m, intDiv(number, 10) + 1 AS h FROM numbers(30)) AS n
ARRAY JOIN [
('quota', 'worker-*', 'ready', 'throttled', 'ready', '', '', '', 'none', 47000, 60000), ('quota', 'worker-*', 'run', 'any', 'run', '', '', '', 'none', 12000, 0), ('quota', 'worker-*', 'ready', 'woken', 'ready', '', '', '', 'none', 1000, 0),
('postgres', 'postgres', 'wait', 'lock', 'undecided', 'futex', 'postgres', 'postgres', 'waker', 400000, 480000), ('postgres', 'postgres', 'run', 'any', 'run', '', '', '', 'none', 50000, 0), ('postgres', 'postgres', 'wait', 'net', 'undecided', 'tcp :5432', '', '', 'none', 30000, 0), ('postgres', 'checkpointer', 'wait', 'poll', 'undecided', 'epoll', '', '', 'timeout', 60000, 60000),
('disk', 'reader', 'wait', 'disk', 'delaying', 'file on sdb', '', '', 'none', 41000, 60000), ('disk', 'reader', 'wait', 'disk', 'delaying', 'file on sda', '', '', 'none', 4000, 0), ('disk', 'reader', 'run', 'any', 'run', '', '', '', 'none', 15000, 0),
('client', 'main', 'wait', 'net', 'delaying', 'tcp :8080', 'server', 'httpd-*', 'waker', 58000, 60000), ('client', 'main', 'run', 'any', 'run', '', '', '', 'none', 2000, 0),
('server', 'httpd-*', 'wait', 'lock', 'delaying', 'futex', 'server', 'logger', 'owner', 45000, 60000), ('server', 'httpd-*', 'run', 'any', 'run', '', '', '', 'none', 15000, 0),
('busy', 'main', 'run', 'any', 'run', '', '', '', 'none', 60000, 60000)] AS r
WHERE NOT (h = 3 AND m >= 5);
