"""labels.py README: holds the core's barrier tables. Every atomic operation with an order has the label of a row, in a
comment behind it or on the line before; every row has a store and a load, or says why it has one of them only; every
row has a model with a twin, or README, the models', says what covers it."""

import collections
import glob
import re
import sys

OPERATION = re.compile(r"__atomic_(\w+)\(")
ORDERED = re.compile(r"__ATOMIC_(ACQUIRE|RELEASE|ACQ_REL|SEQ_CST)")
LABELS = re.compile(r"/\* ?((?:[A-Z]\d+(?:, )?)+)")
ROW = re.compile(r"^ \* ([A-Z]\d+)  +(.*)")
NO_ACCESS = ("signal_fence", "thread_fence", "is_lock_free", "always_lock_free")


def operations(text):
    """Where each operation begins and ends, what it is called, and its arguments."""
    for found in OPERATION.finditer(text):
        depth, at = 1, found.end()
        while depth:
            depth += {"(": 1, ")": -1}.get(text[at], 0)
            at += 1
        if found[1] not in NO_ACCESS:
            yield found.start(), at, found[1], text[found.end():at]


def rows(text):
    """The rows of a table, with their lines joined."""
    label = None
    for line in text.splitlines():
        row = ROW.match(line)
        if row:
            label = row[1]
            yield label, row[2]
        elif label and line.startswith(" *     "):
            yield label, line[7:]
        else:
            label = None


def main(readme):
    paths = sorted(glob.glob("Sources/CWeir/*/*.[ch]") + glob.glob("include/*.h"))
    table, uses, wrong, ordered = collections.defaultdict(str), collections.defaultdict(set), [], 0
    places = {}
    for path in (path for path in paths if "/include/" not in path):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        for label, words in rows(text):
            table[label] += " " + words
            if places.setdefault(label, path) != path:
                wrong.append(f"{label}: a row in {places[label]}, and one in {path}")
        for begin, end, name, arguments in operations(text):
            around = text[text.rfind("\n", 0, text.rfind("\n", 0, begin)) + 1:text.find("\n", end)]
            labels = [label for group in LABELS.findall(around) for label in group.rstrip(", ").split(", ")]
            sides = {"load"} if name == "load_n" else {"store"} if name == "store_n" else {"store", "load"}
            for label in labels:
                uses[label] |= sides
            if ORDERED.search(arguments):
                ordered += 1
                if not labels:
                    wrong.append(f"{path}:{text.count(chr(10), 0, begin) + 1}: an order without a label")
    for label in sorted(set(uses) - set(table)):
        wrong.append(f"{label}: a label without a row")
    with open(readme, encoding="utf-8") as file:
        covered = set(re.findall(r"\b[A-Z]\d+\b", re.sub(r"\b([A-Z])(\d+) to \1(\d+)\b", lambda m: " ".join(
            f"{m[1]}{i}" for i in range(int(m[2]), int(m[3]) + 1)), file.read())))
    for label, words in sorted(table.items()):
        needed = {"store"} if "program order" in words else {"store", "load"}
        if needed - uses[label]:
            wrong.append(f"{label}: a row without its {' and '.join(sorted(needed - uses[label]))}")
        if label not in covered:
            wrong.append(f"{label}: neither a model nor a word in {readme} for it")
    if wrong:
        sys.exit("\n".join(["weir: the barrier tables do not hold:"] + wrong))
    print(f"ok: {ordered} atomic operations with an order, each with one of {len(table)} labels")


main(*sys.argv[1:])
