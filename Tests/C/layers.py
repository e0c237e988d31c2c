"""layers.py TABLE OBJECT...: holds the core's layers. No file includes one of a later folder, no function calls one of a
later folder, and no files call each other in a circle. A function that files share lies in the file that its prefix
names, and only that file's header declares the function. TABLE is the documentation's: its rows begin with a folder's
name, in their order. The objects say who calls whom; they lie in folders as their sources do."""

import os
import re
import subprocess
import sys

SOURCES = "Sources/CWeir"
PREFIX = "weir_core_"  # see names.h
# Prefixes other than the file's name.
SHORT = {"system/crc32c": ["crc"], "system/error": ["error", "fail", "status_of"], "system/system": ["sys"],
         "system/thread": ["thread", "worker"]}


def fail(*lines):
    sys.exit("\n".join(("weir: the core's layers do not hold:",) + lines))


def folders(table):
    with open(table, encoding="utf-8") as lines:
        rows = [re.match(r"\| `(\w+)/` \|", line) for line in lines]
    return [row.group(1) for row in rows if row]


def sources():
    for folder in sorted(os.listdir(SOURCES)):
        path = os.path.join(SOURCES, folder)
        if folder != "include" and os.path.isdir(path):
            yield from (f"{folder}/{name}" for name in sorted(os.listdir(path)))


def calls(objects):
    """The files that each file calls, by the names that it does not define itself."""
    defines, needs = {}, {}
    for path in objects:
        file = "/".join(path.split("/")[-2:])[:-2]
        needs[file] = set()
        for line in subprocess.run(["nm", path], capture_output=True, text=True, check=True).stdout.splitlines():
            kind, name = line.split()[-2:]
            if kind == "U":
                needs[file].add(name)
            elif kind in "BCDRTVW":
                defines[name] = file
    return {file: {defines[name] for name in names if name in defines} - {file} for file, names in needs.items()}


def misplaced(objects):
    """Functions that lie in a file which their prefix does not name, or that another file's header declares."""
    home = {}
    for path in objects:
        file = "/".join(path.split("/")[-2:])[:-2]
        for line in subprocess.run(["nm", path], capture_output=True, text=True, check=True).stdout.splitlines():
            kind, name = line.split()[-2:]
            if kind == "T" and name.startswith(PREFIX):
                home[name[len(PREFIX):]] = file
    for name, file in sorted(home.items()):
        prefixes = SHORT.get(file, [file.split("/")[1]])
        if not any(name == prefix or name.startswith(prefix + "_") for prefix in prefixes):
            yield f"{name} lies in {file}.c, which its prefix does not name"
    for header in (file for file in sources() if file.endswith(".h") and file != "system/names.h"):
        with open(os.path.join(SOURCES, header), encoding="utf-8") as text:
            for name in re.findall(r"^[a-z][^=;{}()]*?\b(\w+)\(", text.read(), re.M):
                if name in home and home[name] != header[:-2]:
                    yield f"{header} declares {name}, which lies in {home[name]}.c"


def circle(called):
    """Files that call each other, or none. What only calls files without a circle has none itself."""
    left = dict(called)
    while True:
        done = [file for file, others in left.items() if not others & left.keys()]
        if not done:
            return sorted(left)
        for file in done:
            del left[file]


def main(table, objects):
    order = folders(table)
    rank = {folder: index for index, folder in enumerate(order)}
    files = list(sources())
    there = {file.split("/")[0] for file in files}
    if there != set(order):
        fail(f"{table} has not the folders of {SOURCES}: {' '.join(sorted(there ^ set(order)))}")
    wrong, includes = [], {}
    for file in files:
        with open(os.path.join(SOURCES, file), encoding="utf-8") as text:
            included = [os.path.normpath(name) for name in re.findall(r'^\s*#\s*include\s*["<](.+)[">]', text.read(), re.M)]
        includes[file] = set(included) & set(files)
        for name in sorted(includes[file]):
            if rank[name.split("/")[0]] > rank[file.split("/")[0]]:
                wrong.append(f"{file} includes {name}, of a later folder")
    called = calls(objects)
    if len(called) != len([file for file in files if file.endswith(".c")]):
        fail(f"{len(called)} objects are not those of the sources")
    for file, others in sorted(called.items()):
        for other in sorted(others):
            if rank[other.split("/")[0]] > rank[file.split("/")[0]]:
                wrong.append(f"{file} calls {other}, of a later folder")
    if circle(includes):
        wrong.append("include each other in a circle: " + " ".join(circle(includes)))
    wrong += misplaced(objects)
    if circle(called):
        wrong.append("call each other in a circle: " + " ".join(circle(called)))
    if wrong:
        fail(*wrong)
    print(f"ok: {len(files)} files of the core in {len(order)} layers, none of them depends on a later one")


main(sys.argv[1], sys.argv[2:])
