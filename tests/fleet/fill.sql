-- A large hour: @HOSTS hosts with 6 of 200 services each, few of which are large, 24 rows per service and minute. One minute
-- is made in memory, the others are copies with other times (fill_minute in run). Replaced: @HOSTS, @T0.
CREATE TABLE gapless.minute AS gapless.ledger ENGINE = Memory;
INSERT INTO gapless.minute (bucket, tenant, service, version, host_id, workload_id, threads, state, cause, kind, object, by_service, by_threads, evidence, ns, count, thread_ns, unexplained_ns)
WITH number % 24 AS k, intDiv(number, 24) % 6 AS slot, intDiv(number, 144) AS h,
  toUInt32(199 * pow((cityHash64(h, slot) % 100000) / 100000, 3)) AS s, cityHash64(s, k) AS sk, cityHash64(h, slot, k) AS r,
  [1,1,1,2,2,3,3,3,3,3,3,3,3,3,3,3,3,3,3,3,3,3,3,4][k + 1] AS st
SELECT toDateTime(@T0), concat('t', toString(s % 4)), concat('svc-', leftPad(toString(s), 3, '0')), concat('v', toString(s % 7), '.', toString(h % 10 < 3 ? 1 : 0)),
  cityHash64(h), cityHash64(h, slot), ['worker-*','main','io-*','gc-*','log','timer'][sk % 6 + 1], ['run','ready','wait','unseen'][st],
  ['user','kernel','any','woken','preempted','lock','lock','lock','net','net','net','net','disk','disk','poll','poll','sleep','pipe','child','fault','kernel','other','other','start'][k + 1],
  ['run','run','run','ready','ready','undecided','delaying','delaying','delaying','delaying','undecided','idle','delaying','delaying','undecided','undecided','undecided','delaying','delaying','delaying','delaying','undecided','undecided','unseen'][k + 1],
  st = 3 ? ['futex','tcp :5432','tcp :6379','unix socket','file on sda','pipe','kernel lock','epoll'][sk % 8 + 1] : '',
  st = 3 AND sk % 3 > 0 ? concat('svc-', leftPad(toString(sk % 200), 3, '0')) : '', st = 3 AND sk % 3 > 0 ? ['worker-*','main','io-*'][sk % 3 + 1] : '', st = 3 ? ['none','waker','owner'][sk % 3 + 1] : 'none',
  toUInt64(exp(12 + (r % 1000) / 100)), 1 + r % 5000, 0, 0
FROM numbers(144 * @HOSTS);
INSERT INTO gapless.workload (tenant, service, workload_id, cluster, host, host_id, version, namespace, pod, container, container_id, cgroup, unit, image, kernel, machine, cpus, labels, first_seen, last_seen)
SELECT tenant, service, workload_id, '', concat('host-', toString(host_id)), host_id, version, '', '', '', '', '', '', '', '', '', 8, map(), toDateTime(@T0 - 7200), toDateTime(@T0 + 3600)
FROM gapless.minute GROUP BY tenant, service, workload_id, host_id, version;
INSERT INTO gapless.quality (bucket, tenant, host_id, name, value)
SELECT toDateTime(@T0 + m * 60), tenant, host_id, 'agent_cpu_ns', 100000000 FROM (SELECT DISTINCT tenant, host_id FROM gapless.minute) ARRAY JOIN range(60) AS m;
