#!/usr/bin/python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""judge.py EXPECT REPORT_TEXT REPORT_JSON: how good an answer is. README.md has the rules."""

import json
import re
import sys

# True of no row: nobody who runs a program knows what it "chose".
ALWAYS_FORBIDDEN = [r"by choice"]
FLAGS = re.IGNORECASE


def matches(pattern, text):
    return re.search(pattern, text, FLAGS) is not None


def missing_facts(must, text):
    """The facts that a text does not state; a fact is a list of patterns, one of which is enough."""
    return [fact for fact in must if not any(matches(pattern, text) for pattern in fact)]


def false_claims(expect, text, findings):
    """What the report says that is not so."""
    sentences = [finding["text"] for finding in findings]
    lines = text.splitlines()
    # Long lines of the report are broken anywhere. Two lines are too much for other patterns: they may be two statements.
    pairs = [f"{first.rstrip()} {second.strip()}" for first, second in zip(lines, lines[1:])]
    claims = []
    for patterns, places in ((ALWAYS_FORBIDDEN, sentences + lines + pairs), (expect.get("forbidden", []), sentences + lines)):
        for pattern in patterns:
            said = next((place for place in places if matches(pattern, place)), None)
            if said is not None:
                claims.append(f"/{pattern}/: {said.strip()}")
    allowed = expect.get("culprits", [])
    for finding in findings:
        for name in finding.get("culprits") or []:
            if not any(matches(pattern, name) for pattern in allowed):
                claims.append(f"culprit '{name}': {finding['text']}")
    return claims


def judge(expect, text, report):
    """A dictionary: points, the first sentence, what it lacks, what is false."""
    findings = report.get("findings") or []
    sentences = [finding["text"] for finding in findings]
    must = expect["must"]
    result = {
        "points": 0.0,
        "first": sentences[0] if sentences else "(nothing)",
        "lacks": missing_facts(must, sentences[0]) if sentences else must,
        "false": false_claims(expect, text, findings),
    }
    if result["false"]:
        result["points"] = -1.0
    elif not result["lacks"]:
        result["points"] = 1.0 * expect.get("points", 1)
    elif not missing_facts(must, " ".join(sentences[:3])):
        result["points"] = 0.5 * expect.get("points", 1)
    return result


def total(results):
    """Points and rows. A row with several cases has their mean, or -1 if one of them has a false claim."""
    rows = {}
    for expect, result in results:
        rows.setdefault(expect["row"], []).append(result["points"])
    points = [-1.0 if min(cases) < 0 else sum(cases) / len(cases) for cases in rows.values()]
    return sum(points), len(rows)


def main():
    with open(sys.argv[1]) as expect, open(sys.argv[2]) as text, open(sys.argv[3]) as report:
        print(json.dumps(judge(json.load(expect), text.read(), json.load(report)), indent=2, ensure_ascii=False))


if __name__ == "__main__":
    main()
