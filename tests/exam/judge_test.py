#!/usr/bin/python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of judge.py, as TAP."""

import sys

from judge import judge, missing_facts, total

EXPECT = {
    "row": 15,
    "must": [["teller"], ["ledger_lock", "lock of the ledger"], ["write_audit|audit\\.log"]],
    "culprits": ["^teller", "audit\\.log"],
    "forbidden": ["idle"],
}
WHOLE = "8 threads teller-* waited 90 % for ledger_lock; its holder was in write_audit."
PART = "8 threads teller-* waited 90 % for ledger_lock."
OTHER = "The disk vda was slow."


def points(*sentences, text="", expect=EXPECT, **fields):
    return judge(expect, text, {"findings": [{"text": s, **fields} for s in sentences]})["points"]


def the_first_sentence_counts_one():
    return points(WHOLE, OTHER) == 1


def the_second_and_third_count_half():
    return points(OTHER, WHOLE) == 0.5 and points(OTHER, OTHER, WHOLE) == 0.5


def the_fourth_counts_nothing():
    return points(OTHER, OTHER, OTHER, WHOLE) == 0


def the_first_three_together_count_half():
    return points(PART, "audit.log is slow.") == 0.5


def a_missing_fact_counts_nothing_and_is_told():
    result = judge(EXPECT, "", {"findings": [{"text": PART}]})
    return result["points"] == 0 and result["lacks"] == [EXPECT["must"][2]]


def no_finding_counts_nothing():
    return points() == 0 and judge(EXPECT, "", {})["lacks"] == EXPECT["must"]


def a_row_may_expect_nothing_but_silence():
    return judge({"row": 50, "must": []}, "", {"findings": [{"text": "Nothing was held up."}]})["points"] == 1


def a_forbidden_claim_anywhere_replaces_the_points():
    return points(WHOLE, "It was idle.") == -1 and points(WHOLE, text="where\nIdle  wait.poll 3 s\n") == -1


def by_choice_is_forbidden_everywhere():
    expect = {**EXPECT, "forbidden": []}
    return all(points(WHOLE, text=text, expect=expect) == -1 for text in ("idle by choice 97 %", "3 %, idle by\n  choice 97 %"))


def a_culprit_that_is_not_allowed_is_a_false_claim():
    return points(WHOLE, culprits=["teller-3", "postgres"]) == -1 and points(WHOLE, culprits=["teller-3"]) == 1


def half_a_row_has_half_the_points():
    return points(WHOLE, expect={**EXPECT, "points": 0.5}) == 0.5


def patterns_ignore_case():
    return not missing_facts([["ROW LOCK"]], "waited for a row lock")


def cases_of_a_row_share_it():
    good, bad, wrong = ({"points": p} for p in (1.0, 0.0, -1.0))
    row = {"row": 25}
    return total([(row, good), (row, bad), ({"row": 1}, good)]) == (1.5, 2) and total([(row, good), (row, wrong)]) == (-1, 1)


def main():
    tests = [f for name, f in globals().items() if callable(f) and f.__module__ == __name__ and name not in ("main", "points")]
    failed = 0
    print(f"1..{len(tests)}")
    for number, test in enumerate(tests, 1):
        passed = test()
        failed += not passed
        print(f"{'ok' if passed else 'not ok'} {number} - {test.__name__}")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
