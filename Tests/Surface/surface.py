"""surface.py FOLDER MODULE...: what each module declares publicly, by the symbol graphs in FOLDER. Prints a table: how
many declarations are in the sources, without what the compiler adds to them; and the names that `import` brings, where
overloads are one name. Members of a type of another module are declarations of the module that adds them."""

import glob
import json
import sys


def symbols(folder, module):
    for path in sorted(glob.glob(f"{folder}/{module}.symbols.json") + glob.glob(f"{folder}/{module}@*.symbols.json")):
        with open(path, encoding="utf-8") as file:
            # What the compiler adds has no location.
            yield from (symbol for symbol in json.load(file)["symbols"] if "location" in symbol)


def main():
    folder, modules = sys.argv[1], sys.argv[2:]
    print("| module | public declarations | top-level names |", "|---|---:|---|", sep="\n")
    total, named = 0, 0
    for module in modules:
        found = list(symbols(folder, module))
        if not found:
            sys.exit(f"weir: {folder} has no symbol graph of {module}: run `make docs`")
        names = sorted({symbol["pathComponents"][0].split("(")[0] for symbol in found
                        if len(symbol["pathComponents"]) == 1}, key=str.lower)
        print(f"| `{module}` | {len(found)} | {len(names)}{': ' if names else ''}"
              + ", ".join(f"`{name}`" for name in names) + " |")
        total, named = total + len(found), named + len(names)
    print(f"| all | {total} | {named} |")


main()
