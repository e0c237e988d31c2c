#!/usr/bin/env python3
"""The README's quick start, as printed: quickstart.py ROOT BUILD SWIFT [JOBS]

Takes the first program of ROOT/README.md, the program with the macro, that which listens to a page, that which delivers,
and the dependency lines with the macro's trait, makes a package of them beside a link to ROOT, builds it under BUILD, runs the programs, and looks at
what they print.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

# Of seconds, against hanging: a loaded machine needs a small part of it.
LIMIT = 900

NAMES = ("started(cart: 7)", "completed(order: 41, total: 19.9, items: 3, coupon: nil)")


def fail(message):
    sys.exit(f"quick start: {message}")


def blocks(readme):
    """The blocks of Swift, in order."""
    return re.findall(r"^```swift\n(.*?)^```$", readme, re.M | re.S)


def only(found, what):
    if not found:
        fail(f"README.md has no {what}")
    return found[0]


def manifest(dependencies):
    """A package with all programs, from the README's lines: one for the package, then one for each product."""
    lines = [line.strip().rstrip(",") for line in dependencies.splitlines()]
    package = only([line for line in lines if line.startswith(".package(")], "line for the package")
    products = ",\n      ".join(line for line in lines if line.startswith(".product("))
    targets = ",\n    ".join(
        f'.executableTarget(name: "{name}", dependencies: [\n      {products}\n    ])' for name in ("plain", "macro", "listen", "deliver"))
    return f"""// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "quickstart",
  dependencies: [
    {package}
  ],
  targets: [
    {targets}
  ]
)
"""


def write(path, text):
    """Leaves a file alone that has the text already, so that nothing is built anew for it."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if os.path.exists(path) and open(path, encoding="utf-8").read() == text:
        return
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def check(program, name):
    with tempfile.TemporaryDirectory() as directory:
        run = subprocess.run([program], cwd=directory, capture_output=True, text=True, timeout=LIMIT, check=False)
        if run.returncode != 0:
            fail(f"{name} ended with status {run.returncode}:\n{run.stderr}")
        lines = run.stdout.splitlines()
        if len(lines) != len(NAMES):
            fail(f"{name} printed {len(lines)} lines, not {len(NAMES)}:\n{run.stdout}")
        for offset, (line, event) in enumerate(zip(lines, NAMES)):
            if not re.fullmatch(rf"{offset} \d{{4}}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{{9}}Z {re.escape(event)}", line):
                fail(f"{name} printed {line!r} for {event}")
        if not os.path.isdir(os.path.join(directory, "events")):
            fail(f"{name} left no log")
    print(f"ok: the README's quick start, {name}")


def check_listening(program):
    with tempfile.TemporaryDirectory() as directory:
        run = subprocess.run([program], cwd=directory, capture_output=True, text=True, timeout=LIMIT, check=False)
        if run.returncode != 0:
            fail(f"the program that listens ended with status {run.returncode}:\n{run.stderr}")
        lines = run.stdout.splitlines()
        names = [line.split(" ")[0] for line in lines]
        if names != ["scope.entered", "wishlist.liked", "scope.exited"] or "7" not in lines[1]:
            fail(f"the program that listens printed:\n{run.stdout}")
    print("ok: the README's page that is listened to")


def check_delivery(program):
    # In memory, where there is any: its budget is a program's, and a disk that is busy with others may take longer.
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory) as directory:
        run = subprocess.run([program], cwd=directory, capture_output=True, text=True, timeout=LIMIT, check=False)
        if run.returncode != 0:
            fail(f"the delivery ended with status {run.returncode}:\n{run.stderr}")
        lines = run.stdout.splitlines()
        if len(lines) != 2 or not lines[0].startswith("Checkout.completed ") or lines[1] != "all is delivered":
            fail(f"the delivery printed:\n{run.stdout}")
        spool = os.path.join(directory, "spool")
        files = [name for name in os.listdir(spool) if name.endswith(".jsonl")]
        events = [json.loads(line) for name in files for line in open(os.path.join(spool, name), encoding="utf-8")]
        if [(event["name"], event["fields"]) for event in events] != [
                ("Checkout.completed", {"order": 41, "total": 19.9})]:
            fail(f"the delivery left {events}")
    print("ok: the README's delivery")


def main():
    root, build, swift = (os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), sys.argv[3])
    jobs = sys.argv[4] if len(sys.argv) > 4 else "2"
    with open(os.path.join(root, "README.md"), encoding="utf-8") as file:
        found = blocks(file.read())
    programs = [block for block in found if re.search(r"^let tracker = try Tracker\(", block, re.M)]
    plain = only(programs, "program")
    if plain != found[0] or "@Event" in plain:
        fail("the first block of README.md is not the program without the macro")
    macro = only([block for block in programs if "@Event" in block and "@Instrumented" not in block],
                 "program with the macro")
    listen = only([block for block in programs if "@Instrumented" in block], "program that listens to a page")
    deliver = only([block for block in programs if "Dispatcher(" in block], "program that delivers")
    dependencies = only(
        [block for block in found if ".package(" in block and '"Macros"' in block], "dependency with the trait")

    link = os.path.join(build, "weir")
    if os.path.islink(link):
        os.unlink(link)
    elif os.path.isdir(link):
        shutil.rmtree(link)
    os.makedirs(build, exist_ok=True)
    os.symlink(root, link)
    package = os.path.join(build, "package")
    write(os.path.join(package, "Package.swift"), manifest(dependencies))
    write(os.path.join(package, "Sources", "plain", "main.swift"), plain)
    write(os.path.join(package, "Sources", "macro", "main.swift"), macro)
    write(os.path.join(package, "Sources", "listen", "main.swift"), listen)
    write(os.path.join(package, "Sources", "deliver", "main.swift"), deliver)
    command = [swift, "build", "-j", jobs, "--package-path", package, "--scratch-path", os.path.join(build, "build")]
    if subprocess.run(command, check=False).returncode != 0:
        fail("it does not build as printed")
    binaries = subprocess.run(command + ["--show-bin-path"], capture_output=True, text=True, check=True).stdout.strip()
    check(os.path.join(binaries, "plain"), "without the macro")
    check(os.path.join(binaries, "macro"), "with the macro")
    check_listening(os.path.join(binaries, "listen"))
    check_delivery(os.path.join(binaries, "deliver"))


main()
