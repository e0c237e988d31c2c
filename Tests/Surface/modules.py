"""modules.py PAGE: holds the page about the modules against the manifest, whose JSON (`swift package dump-package`)
comes on the standard input. The page has a figure and a table, a line each for every module outside of Tests. The order
is the table's: each module uses only modules above it. Every library for Swift has a landing page beside."""

import json
import os
import sys

HEADER = "| module | modules that it uses | packages | trait |"


def modules(manifest):
    """The modules with what they use, in the manifest's order: name, modules, packages, traits."""
    names = {target["name"] for target in manifest["targets"]
             if target["type"] != "test" and not (target.get("path") or "").startswith("Tests/")}
    for target in manifest["targets"]:
        if target["name"] not in names:
            continue
        uses, packages, traits = [], [], []
        for dependency in target["dependencies"]:
            (kind, parts), = dependency.items()
            package = parts[1] if kind == "product" else None
            (packages if package else uses).append(package or parts[0])
            traits += (parts[-1] or {}).get("traits") or []  # the last part is the condition, if there is one
        yield target["name"], uses, sorted(set(packages), key=str.lower), sorted(set(traits))


def sorted_by_use(found):
    """The modules in an order in which each uses only those before it."""
    left, ordered = list(found), []
    while left:
        done = [name for name, _, _, _ in ordered]
        ready = next((module for module in left if set(module[1]) <= set(done)), None)
        if ready is None:
            sys.exit("weir: Package.swift: modules use each other in a circle: " + ", ".join(m[0] for m in left))
        ordered.append(ready)
        left.remove(ready)
    return ordered


def figure(ordered):
    """A line for each module: `o` is the module, `x` a module that it uses, which has its `o` above."""
    names = [name for name, _, _, _ in ordered]
    width = max(map(len, names)) + 2
    for place, (name, uses, _, traits) in enumerate(ordered):
        marks = ["x" if other in uses else "|" for other in names[:place]] + ["o"] + [f"[{trait}]" for trait in traits]
        yield name.ljust(width) + "  ".join(marks)


def rows(ordered):
    def code(names):
        return ", ".join(f"`{name}`" for name in names)

    places = {name: place for place, (name, _, _, _) in enumerate(ordered)}
    for name, uses, packages, traits in ordered:
        cells = [f"`{name}`", code(sorted(uses, key=places.get)), ", ".join(packages), code(traits)]
        yield "|" + "".join(f" {cell} |" if cell else " |" for cell in cells)


def compare(page, lines, first, wanted, end):
    """Compares what begins at the line `first`, and ends with a line `end`, with the lines that are wanted. Ends with
    the line of the page that differs, and what is to be done about the line."""
    for number, line in enumerate(wanted + [end], first):
        has = lines[number - 1] if number <= len(lines) else end
        if has == line:
            continue
        if line == end:
            change = "is of no module that is in Package.swift: remove the line"
        elif has == end or has in wanted:
            change = f"needs a line above it, for a module that is missing here:\n  {line}"
        else:
            change = f"says other than Package.swift: it has to be\n  {line}"
        sys.exit(f"weir: {page}:{number}: the line\n  {has}\n{change}")


def landing_pages(page, manifest):
    """The landing page of each library for Swift. The main module's has the pages of the others below it."""
    catalogue = os.path.dirname(os.path.dirname(page))
    for product in manifest["products"]:
        name = product["name"]
        if "library" in product["type"] and name != "CWeir":
            yield name, f"{catalogue}/{name}.md" if name == "Weir" else f"{catalogue}/Modules/{name}.md"


def main():
    page = sys.argv[1]
    with open(page, encoding="utf-8") as file:
        lines = file.read().splitlines()
    manifest = json.load(sys.stdin)
    for name, landing in landing_pages(page, manifest):
        if not os.path.exists(landing):
            sys.exit(f"weir: Package.swift has the library {name}, and there is no landing page {landing}")
    ordered = sorted_by_use(list(modules(manifest)))
    for start in (HEADER, "```text"):
        if start not in lines:
            sys.exit(f"weir: {page}: there is no line {start!r}, after which this check looks for the modules")
    compare(page, lines, lines.index("```text") + 2, list(figure(ordered)), "```")
    compare(page, lines, lines.index(HEADER) + 3, list(rows(ordered)), "")
    print(f"ok: {page} has the {len(ordered)} modules of Package.swift, and what they use")


main()
