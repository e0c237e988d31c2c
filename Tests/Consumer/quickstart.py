#!/usr/bin/env python3
"""The README's quick start, as printed: quickstart.py ROOT BUILD SWIFT [JOBS]

Takes the first block of Swift of ROOT/README.md, a program with the macro, and the second, the lines for the program's
package; makes of the program another one without the macro, as the README says that this is done; makes a package of
them beside a link to ROOT, builds the package under BUILD, runs the programs, and looks at what they print. The blocks
that follow are compiled by the tests: Tests/ExampleTests/Readme.swift.
"""

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
    """A package with both programs, from the README's lines: one for the package, then one for each product."""
    lines = [line.strip().rstrip(",") for line in dependencies.splitlines()]
    package = only([line for line in lines if line.startswith(".package(")], "line for the package")
    products = ",\n      ".join(line for line in lines if line.startswith(".product("))
    targets = ",\n    ".join(
        f'.executableTarget(name: "{name}", dependencies: [\n      {products}\n    ])' for name in ("macro", "plain"))
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


def without_macro(readme, program):
    """The program as the README says that it is written without the trait: its events' line replaced, the rest kept."""
    line = only(re.findall(r"`(enum \w+: Codable, Event)`", readme), "line for events without the macro")
    plain, found = re.subn(r"^@Event.*\n" + re.escape(line.split(":")[0]) + r" \{$", line + " {", program, flags=re.M)
    if found != 1:
        fail(f"the program of README.md has no line to be replaced by {line}")
    return plain


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


def main():
    root, build, swift = (os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), sys.argv[3])
    jobs = sys.argv[4] if len(sys.argv) > 4 else "2"
    with open(os.path.join(root, "README.md"), encoding="utf-8") as file:
        readme = file.read()
    found = blocks(readme)
    if len(found) < 2 or not found[0].startswith("import Weir\n") or "@Event" not in found[0]:
        fail("the first block of README.md is not a program with the macro")
    if ".package(" not in found[1] or '"Macros"' not in found[1]:
        fail("the second block of README.md is not the dependency with the trait")
    programs = {"macro": found[0], "plain": without_macro(readme, found[0])}

    link = os.path.join(build, "weir")
    if os.path.islink(link):
        os.unlink(link)
    elif os.path.isdir(link):
        shutil.rmtree(link)
    os.makedirs(build, exist_ok=True)
    os.symlink(root, link)
    package = os.path.join(build, "package")
    write(os.path.join(package, "Package.swift"), manifest(found[1]))
    for name, program in programs.items():
        write(os.path.join(package, "Sources", name, "main.swift"), program)
    command = [swift, "build", "-j", jobs, "-debug-info-format", "none", "--disable-index-store",
               "--package-path", package, "--scratch-path", os.path.join(build, "build")]
    if subprocess.run(command, check=False).returncode != 0:
        fail("it does not build as printed")
    binaries = subprocess.run(command + ["--show-bin-path"], capture_output=True, text=True, check=True).stdout.strip()
    check(os.path.join(binaries, "macro"), "with the macro")
    check(os.path.join(binaries, "plain"), "without the macro")


main()
