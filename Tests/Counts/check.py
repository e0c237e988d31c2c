#!/usr/bin/env python3
"""Holds what captures do against the baselines beside this file. `make counts` runs it.

    check.py BASELINES program EXECUTABLE        allocations, locks and system calls a capture
    check.py BASELINES straight COMPILER BINARY  what lies on the way of one inlined capture
    check.py BASELINES idle EXECUTABLE           how often the threads of an idle log wake up

Only counts: nothing here depends on how fast or how busy the machine is.
"""

import collections
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile

IDLE_WAKEUPS_A_SECOND = 5


def read_baselines(path):
    """Lines of words; # begins a comment."""
    with open(path, encoding="utf-8") as file:
        lines = [line.split("#")[0].split() for line in file]
    return [words for words in lines if words]


class Judge:
    """Prints each check, and how many there were."""

    def __init__(self):
        self.passed = self.failed = 0

    def check(self, good, text):
        self.passed += bool(good)
        self.failed += not good
        print(("ok:     " if good else "FAILED: ") + text)

    def end(self):
        print(f"counts: {self.passed} passed, {self.failed} failed")
        return self.failed or self.passed == 0


# ---- Programs that count ---------------------------------------------------------------------------------------------


def run_traced(executable):
    """Runs a program that counts under strace; its output, and its system calls between the marks of each subject."""
    folder = tempfile.mkdtemp(prefix="weir-counts-")
    trace = os.path.join(folder, "trace")
    try:
        command = ["strace", "-f", "-qq", "-s", "100", "-o", trace, executable, os.path.join(folder, "log")]
        run = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=600, check=False)
        if run.returncode != 0:
            sys.exit(f"counts: {executable} ended with status {run.returncode}")
        with open(trace, encoding="utf-8", errors="replace") as file:
            return run.stdout, calls_between_marks(file)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def calls_between_marks(trace):
    """For each subject, a Counter of the names of the calls that its own thread made while it was counted."""
    found = collections.defaultdict(collections.Counter)
    subject_of = {}
    for line in trace:
        thread, _, rest = line.strip().partition(" ")
        rest = rest.strip()
        mark = re.match(r'write\(-1, "counts:(begin|end):([^:"]+):"', rest)
        if mark:
            if mark.group(1) == "begin":
                subject_of[thread] = mark.group(2)
                found[mark.group(2)]["windows"] += 1
            else:
                subject_of.pop(thread, None)
        elif thread in subject_of and not rest.startswith(("<... ", "---", "+++")):  # the ends of calls, signals, exits
            found[subject_of[thread]][rest.partition("(")[0]] += 1
    return found


def check_program(judge, baselines, executable):
    output, calls = run_traced(executable)
    expected = {words[1]: words[2:] for words in baselines if words[0] == "capture"}
    seen = set()
    for line in output.splitlines():
        words = line.split()
        if not words or words[0] != "counts":
            continue
        subject = words[1]
        counts = {key: int(value) for key, value in (word.split("=") for word in words[2:])}
        captures = counts.pop("captures")
        traced = calls[subject]
        windows = traced.pop("windows", 0)
        counts["system-calls"] = sum(traced.values())
        seen.add(subject)
        text = f"{subject}: {captures} captures, " + ", ".join(f"{value} {key}" for key, value in counts.items())
        if traced:
            text += f" ({', '.join(f'{value} {name}' for name, value in traced.items())})"
        if subject not in expected:
            judge.check(False, f"{text}: no baseline")
            continue
        wanted = expected[subject]
        good = all(limit == "-" or count == int(limit) * captures for count, limit in zip(counts.values(), wanted))
        judge.check(good and windows > 0 and len(wanted) == len(counts), f"{text}; wanted {' '.join(wanted)} a capture")
    own = "swift-" if any(subject.startswith("swift-") for subject in seen) else "c-"
    for subject in expected:
        if subject.startswith(own) and subject not in seen:
            judge.check(False, f"{subject}: not measured")


# ---- The straight path -----------------------------------------------------------------------------------------------

FORBIDDEN = re.compile(r"^(lock\b|mfence|syscall|sysenter|int\b|xchg\b.*\()")


def functions_of(binary):
    """The functions named straight…, detached… and sinner…: by name, a list of (address, instruction)."""
    command = ["objdump", "-d", "--no-show-raw-insn", binary]
    listing = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    functions, name = {}, None
    for line in listing.stdout.splitlines():
        head = re.match(r"^[0-9a-f]+ <(.+)>:$", line)
        if head:
            swift = re.search(r"\d+straight([A-Z][a-z]+)", head.group(1))
            detached = re.search(r"SwiftCounts.*?(\d+)detached([A-Z]\w+)", head.group(1))
            name = head.group(1) if head.group(1).startswith(("straight_", "sinner_")) else None
            if swift:
                name = "straight_swift_" + swift.group(1).lower()
            if detached:
                # The number is the length of the whole name; what follows it are the types.
                name = "detached_swift_" + detached.group(2)[: int(detached.group(1)) - len("detached")].lower()
            if name:
                functions[name] = []
            continue
        step = re.match(r"^\s*([0-9a-f]+):\s+(.*?)\s*(#.*)?$", line)
        if step and name:
            functions[name].append((int(step.group(1), 16), step.group(2)))
    return functions


def shortest_way(function, timed=True):
    """The fewest instructions from the function's start to its return, taking the time on the way (that is: accepting
    the event) if it is to be timed, and never leaving the function. None if there is no such way."""
    following = {}
    text = dict(function)
    for index, (address, instruction) in enumerate(function):
        after = [function[index + 1][0]] if index + 1 < len(function) else []
        word = instruction.split()[0] if instruction else ""
        target = re.search(r"\bj\w+(?:,p[nt])?\s+([0-9a-f]+)\b", instruction)
        if word.startswith("call") or word in ("ud2", "hlt") or FORBIDDEN.match(instruction):
            following[address] = []
        elif word.startswith("jmp"):
            following[address] = [int(target.group(1), 16)] if target else []
        elif word.startswith("j"):
            following[address] = after + ([int(target.group(1), 16)] if target else [])
        else:
            following[address] = after
    start = (function[0][0], not timed)
    steps, queue = {start: 1}, collections.deque([start])
    while queue:
        state = queue.popleft()
        address, is_timed = state
        if text[address].startswith("ret") and is_timed:
            return steps[state]
        is_timed = is_timed or text[address].startswith("rdtsc")
        for target in following[address]:
            if target in text and (target, is_timed) not in steps:
                steps[(target, is_timed)] = steps[state] + 1
                queue.append((target, is_timed))
    return None


def version_of(compiler):
    """The compiler's name with its version, as the baselines have it: gcc-12, clang-21, swift-6.3."""
    if compiler.startswith("swift"):
        text = subprocess.run([compiler, "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout
        return "swift-" + re.search(r"Swift version (\d+\.\d+)", text).group(1)
    text = subprocess.run([compiler, "-dumpversion"], stdout=subprocess.PIPE, text=True, check=True).stdout
    return f"{os.path.basename(compiler)}-{text.split('.')[0].strip()}"


def check_straight(judge, baselines, command, binary):
    if platform.machine() != "x86_64":
        print(f"skipped: the straight path, which is read only on x86_64, not on {platform.machine()}")
        return
    compiler = version_of(command)
    limits = {words[2]: int(words[3]) for words in baselines if words[0] == "straight" and words[1] == compiler}
    functions = functions_of(binary)
    captures = [name for name in sorted(functions) if name.startswith(("straight_", "detached_"))]
    judge.check(bool(captures), f"{compiler}: captures to look at: {len(captures)}")
    for name in captures:
        function = functions[name]
        atomic = [f"{address:x}: {step}" for address, step in function if FORBIDDEN.match(step)]
        judge.check(not atomic, f"{compiler} {name}: no locked, exchanging or system instruction {atomic or ''}")
        way = shortest_way(function, timed=name.startswith("straight_"))
        judge.check(way is not None, f"{compiler} {name}: a way without a call")
        if way is not None and name in limits:
            judge.check(way <= limits[name], f"{compiler} {name}: {way} instructions on it, at most {limits[name]}")
        elif way is not None:
            print(f"        {compiler} {name}: {way} instructions on it; no baseline for this compiler")
    for name in limits:
        if name not in functions:
            judge.check(False, f"{compiler} {name}: not found")
    if "sinner_lock" in functions:
        seen = [step for _, step in functions["sinner_lock"] if FORBIDDEN.match(step)]
        judge.check(bool(seen), f"{compiler}: a locked instruction is seen where there is one: {seen}")
    if "sinner_call" in functions:
        judge.check(shortest_way(functions["sinner_call"]) is None, f"{compiler}: a call is seen where there is one")


# ---- Idle ------------------------------------------------------------------------------------------------------------


def check_idle(judge, executable):
    folder = tempfile.mkdtemp(prefix="weir-counts-")
    try:
        command = [executable, os.path.join(folder, "log"), "idle"]
        run = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    found = {}
    for line in run.stdout.splitlines():
        words = line.split()
        found[words[0]] = {key: int(value) for key, value in (word.split("=") for word in words[1:])}
    busy, idle = found["busy"], found["idle"]
    # That these are counted at all is seen while there is something to do.
    judge.check(busy["wakeups"] > 0 and busy["sleeps"] > 0, f"busy: {busy}: wake-ups and sleeps are counted")
    for what in ("wakeups", "sleeps"):
        limit = IDLE_WAKEUPS_A_SECOND * idle["seconds"]
        judge.check(idle[what] < limit, f"idle: {idle[what]} {what} in {idle['seconds']} s, wanted under {limit}")


def main(arguments):
    if len(arguments) < 3:
        sys.exit(__doc__)
    baselines = read_baselines(arguments[0])
    judge = Judge()
    if arguments[1] == "program":
        check_program(judge, baselines, arguments[2])
    elif arguments[1] == "straight" and len(arguments) == 4:
        check_straight(judge, baselines, arguments[2], arguments[3])
    elif arguments[1] == "idle":
        check_idle(judge, arguments[2])
    else:
        sys.exit(__doc__)
    return 1 if judge.end() else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
