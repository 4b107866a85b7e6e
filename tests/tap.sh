# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# TAP for tests/run, tests/vm/run, tests/check/run and .ci/run. Each level judges the one below by the same rule, so a
# harness that dies is caught the way a test that dies is.

# is_chosen PROGRAM: is it to run? TESTS in the environment has the names of those that are; without it, all are.
is_chosen()
{
	[[ ! ${TESTS-} || " ${TESTS//$'\n'/ } " == *" $1 "* ]]
}

# tap_judge NAME STATUS: rewrites one program's TAP (stdin) with NAME before each test, everything else as `# ` lines,
# and adds a `not ok` if the program ended in a way that its own results don't show. STATUS: exit status, or `lost`.
tap_judge()
{
	awk -v name="$1" -v status="$2" '
	function because(text) { why = why (why ? ", " : "") text }

	{ sub(/\r$/, "") }
	/^1\.\.[0-9]+/ { plans++; planned += substr($0, 4); next }
	/^(not )?ok( |$)/ {
		verdict = /^not/ ? "not ok" : "ok"
		results++
		sub(/^(not )?ok *[0-9]* *(- *)?/, "")
		# cmocka prints a skipped test as "not ok 3 # SKIP name", and has no place for the reason
		if (/^# SKIP/) {
			sub(/^# SKIP */, "")
			$0 = $0 " # SKIP " (reason ? reason : "no reason given")
		}
		if (/# SKIP/)
			verdict = "ok"
		reason = ""
		failed += verdict == "not ok"
		print verdict " - " name ": " $0
		next
	}
	/^# skip: / { reason = substr($0, 9); next }
	/^$/ { next }
	{ print /^#/ ? $0 : "# " $0 }

	END {
		if (status == 124)
			because("timed out")
		else if (status > 128)
			because("killed by signal " status - 128)
		else if (status != 0 && !failed)
			because("exit status " status " without a failed test")
		if (!plans)
			because("no plan")
		else if (results != planned)
			because(results + 0 " results for " planned " planned tests")
		if (status == "lost")
			why = "did not run to its end"
		if (why)
			print "not ok - " name ": " why
	}'
}

# tap_finish: passes a suite's judged TAP on, refuses a suite that tested nothing, ends with the plan.
tap_finish()
{
	awk '
	{ print }
	/^(not )?ok / { results++ }
	/^not ok / { failed++ }
	/^ok .*# SKIP/ { skipped++ }

	END {
		if (skipped == results) {
			print "not ok - " (results ? "every test was skipped" : "no test ran")
			results++
			failed++
		}
		print "1.." results
		exit failed > 0
	}'
}

# tap_abort REASON: the end of a suite that cannot start.
tap_abort()
{
	printf '%s\n' "not ok - $1" 1..1
	exit 1
}

# tap_total: one line for the judged TAP of all suites. More tests that are marked as flaky than may be have failed.
tap_most_flaky=2
tap_total()
{
	awk -v most="$tap_most_flaky" '
	/^not ok/ { failed++; next }
	/^ok .*# SKIP/ { skipped++; next }
	/^ok .*# FLAKY/ { flaky++; print "flaky: " $0 }
	/^ok/ { passed++ }
	END {
		if (flaky > most) {
			printf "%d tests are flaky, at most %d may be\n", flaky, most
			failed += flaky
			passed -= flaky
		}
		printf "\n%d passed, %d failed, %d skipped\n", passed, failed, skipped
		exit failed > 0 || passed == 0
	}'
}
