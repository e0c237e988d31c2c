#!/usr/bin/env python3
"""cases.py: which test puts the log through which fault. The faults are numbered 1 to 56; a test of one begins its name
with "case N: ", or is listed below by what it is named. Without an argument this prints the tests of each case, and
fails if a case has neither a test nor a reason why not (below), or if a listed test is gone. With --write it puts the
table into README.md beside it. Run from the top of the source tree.
"""

import pathlib
import re
import sys

FAULTS = """
before and after each store of a capture
after a block is appended, before the lane's head moves
after the head moved, before the segment is synced
in segment creation, preallocation, header
between seal, sync, rename, directory sync
while a cursor slot is written
after a provider's acknowledgement, before the cursor is durable
during recovery, up to ten times over
while a batch segment is written, renamed, its raw segment unlinked
while segments are deleted
a crash of the host elsewhere; the OOM killer
a producer stopped for long while the drainer runs
a thread that ends, or is cancelled, with an undrained lane
more threads than lanes
fork while another thread is mid-capture
exec
a capture from a signal handler, at every instruction
a stale owner whose pid a live process has
two processes opening one directory
close while others capture
clean reboot, container restart
a power cut, nothing synced yet
a power cut after an awaited watermark
names durable without content, content without names
a tail block of any sectors, garbage, or old contents
pages of the ring newer than their neighbours
cursor newer than segments, segments newer than cursor
an unlink durable before the cursor
files of length zero
no space at any step
quotas, a read-only remount, limits of the process
fdatasync fails once, then "succeeds"
EIO reading; a segment truncated under a reader
fallocate not supported
EINTR and short writes everywhere
files deleted, renamed, chmod-ed while open
files moved to a machine with another page size; a file system with blocks of 64 KiB
a slow disk, a frozen one
the byte limit reached, nothing delivered
each header byte flipped; lengths 0, 1, maximal, negative
a flipped bit in block k of n
segments duplicated, swapped, missing, foreign
a payload that imitates a record or a block
newer versions, unknown flags, an unknown event case
bad cursors, bad acknowledgements
bad LZ4 frames
events of zero bytes, the largest size, one more; odd text, NaN
position counters about to wrap
clocks that jump
stray files, links, wrong digits, an open directory
a directory that is empty, read-only, full, removed
a provider that crashes, times out, acknowledges late
random kills with lost acknowledgements
a slow and a fast provider together
reopening with 1, 100, 10,000 segments
the same kill schedule against what users run today
""".strip().splitlines()

# Why a case has no test.
UNTESTED = {}

# Tests that are named after what they show of a component, and show a case too: file, and words of the name.
ALSO = {
    6: [("WeirTests/Cursors/CursorTests.swift", "a damaged cursor may be killed before any call while it is made anew"),
        ("WeirTests/Cursors/CursorTests.swift", "a slot half written leaves the one before it")],
    7: [("WeirDeliveryTests/Dispatching/DeliveryRestartTests.swift", "an event settled after the cursor's last move comes again"),
        ("EndToEndTests/Delivery/DeliveryKills.swift", "every acknowledged event arrives, whoever is killed")],
    9: [("C/batch_test.c", "killed before any call of the system, the log is whole"),
        ("C/batch_open_test.c", "killed at any moment, with batch segments in the making")],
    10: [("C/release_test.c", "killed while delivered segments are removed")],
    27: [("WeirTests/Cursors/ResumptionTests.swift", "if the log ends below the cursor")],
    45: [("WeirTests/Cursors/CursorTests.swift", "a flip of any byte leaves one of the last two positions"),
         ("WeirDeliveryTests/Dispatching/DeliveryRestartTests.swift", "a cursor with both slots bad starts over"),
         ("WeirDeliveryTests/Dispatching/DeliveryRestartTests.swift", "a cursor beyond the end, or of another log"),
         ("WeirDeliveryTests/Dispatching/SettlementTests.swift", "events may be settled in any order"),
         ("WeirDeliveryTests/Dispatching/VerdictTests.swift", "a provider that does not return is not called again"),
         ("WeirDeliveryTests/Dispatching/DispatcherTests.swift", "a provider known by its cursor only pins the log"),
         ("WeirHTTPTests/Provider/FaultTests.swift", "an endpoint that acknowledges events that it was not given")],
    52: [("WeirDeliveryTests/Dispatching/VerdictTests.swift", "a call that takes too long is cancelled"),
         ("WeirDeliveryTests/Dispatching/VerdictTests.swift", "its late verdicts do not count"),
         ("WeirDeliveryTests/Dispatching/VerdictTests.swift", "events that arrived though the answer was lost come again"),
         ("WeirHTTPTests/Provider/FaultTests.swift", "an endpoint that acknowledges events that it was not given"),
         ("EndToEndTests/Delivery/DeliveryKills.swift", "every acknowledged event arrives, whoever is killed")],
    53: [("WeirDeliveryTests/Dispatching/DeliveryRestartTests.swift", "the ledger balances after each of fifty kills"),
         ("EndToEndTests/Delivery/DeliveryKills.swift", "every acknowledged event arrives, whoever is killed")],
    54: [("WeirDeliveryTests/Dispatching/VerdictTests.swift", "one dead provider does not make another slower"),
         ("EndToEndTests/Delivery/DeliveryKills.swift", "beside a provider that is dead all the time")],
}

HERE = pathlib.Path("Tests/CrashReplay")
NAMED = re.compile(r'["`]case ((?:\d+)(?:(?:, | and )\d+)*)\b')


def find_tests():
    """The files that have tests of each case, the harness's own first."""
    found = {case: [] for case in range(1, len(FAULTS) + 1)}
    files = [path for kind in ("*.c", "*.h", "*.swift") for path in sorted(pathlib.Path("Tests").rglob(kind))]
    for path in sorted(files, key=lambda path: (HERE not in path.parents, str(path))):
        for match in NAMED.finditer(path.read_text(errors="replace")):
            for case in re.findall(r"\d+", match.group(1)):
                name = str(path.relative_to(HERE if HERE in path.parents else "Tests"))
                if int(case) in found and name not in found[int(case)]:
                    found[int(case)].append(name)
    for case, tests in ALSO.items():
        for name, words in tests:
            if words not in pathlib.Path("Tests", name).read_text(errors="replace"):
                sys.exit(f"case {case}: {name} has no test with the words: {words}")
            if name not in found[case]:
                found[case].append(name)
    return found


def table(found):
    lines = ["| | fault | tests |", "|---|---|---|"]
    for case, fault in enumerate(FAULTS, 1):
        tests = ", ".join(f"`{name}`" for name in found[case])
        lines.append(f"| {case} | {fault} | {tests or UNTESTED.get(case, '')} |")
    return "\n".join(lines)


def main():
    found = find_tests()
    if sys.argv[1:] == ["--write"]:
        readme = HERE / "README.md"
        before, rest = readme.read_text().split("<!-- cases -->\n", 1)
        after = rest.split("<!-- end -->", 1)[1]
        readme.write_text(f"{before}<!-- cases -->\n{table(found)}\n<!-- end -->{after}")
    else:
        print(table(found))
    missing = [case for case in found if not found[case] and case not in UNTESTED]
    if missing:
        sys.exit(f"no test is named after: {', '.join(map(str, missing))}")
    reasons = ", the others a reason" if UNTESTED else ""
    print(f"{sum(map(bool, found.values()))} of {len(FAULTS)} cases have tests{reasons}", file=sys.stderr)


main()
