#!/usr/bin/env python3
"""The C core as one file.

    amalgamate.py FOLDER [FUNCTION...]

Writes weir.c and weir.h; and weir_reader.c and weir_reader.h, which read a log and have nothing that writes one: the
named functions of weir.h, or those of READER below. The core is read from Sources/CWeir and include, in the working
directory. In the result

- the core's files follow each other in the order of CoreLayers.md;
- every name is static that the installed headers do not have;
- a name that several files have, each for a thing of its own, gets its file's name in front: batch_make_room;
- whatever no public function leads to is left out, comments of it included.

What stays may be too much, where a local variable is called like something of its file. Too little would not compile:
see Tests/Amalgamation.
"""

import pathlib
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True

from c_source import File, stop  # noqa: E402, behind the line above

CORE, HEADERS = pathlib.Path("Sources/CWeir"), pathlib.Path("include")
LAYERS = pathlib.Path("Sources/Weir/Weir.docc/Maintaining/CoreLayers.md")
PUBLIC = ["weir_capture.h", "weir.h", "weir_failing.h"]
NAMES = "system/names.h"  # prefixes for names that are static here
FAULTS = "WEIR_FAULT_INJECTION"

# What reads a log, follows it and verifies it, and constants of which the header has the whole enumeration.
READER = """weir_version weir_status_name weir_drop_name weir_reader_options_init weir_reader_open weir_reader_next
    weir_reader_place weir_reader_wait weir_reader_descriptor weir_reader_is_live weir_reader_close weir_verify
    weir_verify_segment weir_read_segment weir_stat_directory weir_count_from""".split()
CONSTANTS = "WEIR_VERSION_NUMBER WEIR_OK WEIR_MAX_LANES WEIR_ACCEPTED WEIR_TYPE_GAP WEIR_KIND_U64".split()

# ---- The core --------------------------------------------------------------------------------------------------------


def without_faults(text):
    """Without what is compiled with WEIR_FAULT_INJECTION alone."""
    out, open_ones = [], []  # of each #if: None if it stays, otherwise whether its branch does
    for line in text.split("\n"):
        word = re.match(r"\s*#\s*(if|ifdef|ifndef|else|elif|endif)\b\s*(\w*)", line)
        if word and word[1].startswith("if"):
            open_ones.append(word[1] == "ifndef" if word[2] == FAULTS else None)
            if open_ones[-1] is not None:
                continue
        elif word and open_ones[-1] is not None:
            if word[1] == "endif":
                open_ones.pop()
            else:
                open_ones[-1] = not open_ones[-1]
            continue
        elif word and word[1] == "endif":
            open_ones.pop()
        if False not in open_ones:
            out.append(line)
    return "\n".join(out)


def read(path, name, has_faults):
    text = path.read_text(encoding="utf-8")
    if name == NAMES:
        text = re.sub(r"(?m)^#define (\w+) weir_core_\1\n", "", text)
    return File(name, text if has_faults else without_faults(text))


def files_in_order(has_faults):
    """The public headers, then each file of the core behind what it includes."""
    folders = re.findall(r"(?m)^\| `(\w+)/` \|", LAYERS.read_text(encoding="utf-8"))
    files = {name: read(HEADERS / name, name, has_faults) for name in PUBLIC}
    order = list(files.values())

    def take(name):
        if name in files or (HEADERS / name).exists():
            return
        files[name] = read(CORE / name, name, has_faults)
        for other in files[name].own:
            take(other)
        order.append(files[name])

    for folder in folders:
        for path in sorted((CORE / folder).glob("*.c")):
            take(f"{folder}/{path.name}")
    return order


def all_parts(files):
    return [part for file in files for part in file.parts()]


def new_name(file, name, taken):
    for prefix in file.stem, file.name[:-2].replace("/", "_"):
        made = f"{prefix.upper() if name.isupper() else prefix}_{name}"
        if made not in taken:
            return made
    stop(f"{file.name}: there is a {made} already; rename {name}")


def tell_apart(files):
    """Renames what several files have, each for a thing of its own."""
    owners, words = {}, {}
    for file in files:
        for part in file.parts():
            for name in part.names if not part.is_forward else ():
                owners.setdefault(name, {}).setdefault(file, []).append(part)
            for kind, text in part.tokens:
                if kind == "word":
                    words.setdefault(text, set()).add(file)
    renamed = {}
    for name, by_file in owners.items():
        sources = [file for file in by_file if not file.is_header]
        for file in sources:
            parts = by_file[file]
            is_own = not any(part.is_shared or part.is_extern for part in parts)
            is_macro = any(part.kind == "define" for part in parts)
            if is_own and (len(by_file) > 1 or is_macro and words.get(name, {file}) != {file}):
                renamed.setdefault(file, []).append(name)
    for file, names in renamed.items():
        for part in file.parts():
            part.rename({name: new_name(file, name, words) for name in names})


def keep(files, roots, is_stopped=lambda part: False):
    """Marks whatever the roots lead to. What a source file has for itself, nothing outside of the file leads to."""
    parts = {}
    for part in all_parts(files):
        for name in part.names:
            parts.setdefault(name, []).append(part)
    unknown = [name for name in roots if name not in parts]
    if unknown:
        stop("nothing is called", ", ".join(unknown))
    waiting = [part for name in roots for part in parts[name] if part.is_shared]
    while waiting:
        part = waiting.pop()
        if not part.is_kept and not is_stopped(part):
            part.is_kept = True
            waiting += [other for name in part.uses.union(part.names) for other in parts.get(name, [])
                        if not other.is_kept and (other.is_shared or other.file is part.file)]
        if not waiting:
            waiting = [part for part in all_parts(files) if not part.is_kept and part.file.is_kept and
                       part.uses & {"constructor", "destructor"}]
    for part in all_parts(files):
        if part.is_assert:
            part.is_kept = all(any(each.is_kept for each in parts[word]) for word in part.uses if word in parts)


def make_static(files, public):
    for file in files:
        for part in file.parts():
            if part.kind == "code" and not public.intersection(part.names) and not part.is_static:
                if part.is_variable and part.is_extern and file.is_header:
                    part.is_kept = False
                elif part.function or part.is_variable and not part.is_extern:
                    part.make_static()


# ---- What is written -------------------------------------------------------------------------------------------------


def source_id():
    # Not the commit of a repository that has these sources in a folder.
    if not pathlib.Path(".git").exists() or not shutil.which("git"):
        return ""
    run = subprocess.run(["git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"], capture_output=True,
                         text=True, check=False)
    return f", commit {run.stdout.strip()}" if run.returncode == 0 else ""


def comment(text):
    return "/*\n" + "".join(f" * {line}".rstrip() + "\n" for line in text.strip().split("\n")) + " */\n"


LICENCE = """Under the Apache License, Version 2.0: http://www.apache.org/licenses/LICENSE-2.0
SPDX-License-Identifier: Apache-2.0"""


def version():
    return re.search(r'#define WEIR_VERSION "(.+)"', (HEADERS / "weir.h").read_text(encoding="utf-8"))[1]


SETTINGS = """#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "{header}"

{includes}
#if defined(__cplusplus)
#pragma GCC diagnostic push
/* As C++ these warn of `{{0}}` and of designators, where the members that are left out are to be zero. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#pragma GCC diagnostic ignored "-Wmissing-braces"
#endif
"""
END = """
#if defined(__cplusplus)
#pragma GCC diagnostic pop
#endif
"""


def source(header, files, about):
    includes = sorted({name for file in files if file.is_kept for name in file.system})
    out = comment(about + "\n\n" + LICENCE)
    out += SETTINGS.format(header=header, includes="".join(f"#include <{name}>\n" for name in includes))
    for file in files:
        file.keep_comments(has_first=file.name not in PUBLIC)
        if file.is_kept:
            out += f"\n/* ==== {file.name} {'=' * (106 - len(file.name))} */\n{file.written()}\n"
    return re.sub("\n{3,}", "\n\n", out + END)


def whole_header():
    """weir.h with the headers that it comes with."""
    texts = {name: (HEADERS / name).read_text(encoding="utf-8") for name in PUBLIC}
    return texts["weir.h"].replace('#include "weir_capture.h"\n', "\n" + texts["weir_capture.h"]) + "\n" + \
        texts["weir_failing.h"]


def reader_header(files, about):
    out = comment(about + "\n\n" + LICENCE)
    out += "#ifndef WEIR_READER_H\n#define WEIR_READER_H\n\n#ifdef WEIR_H\n" \
           '#error "weir.h has what weir_reader.h has: include one of the two"\n#endif\n#define WEIR_H\n\n' \
           "#include <stdint.h>\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n"
    for file in files:
        file.keep_comments(has_first=False)
        for part in file.parts():
            part.is_kept = part.is_kept and part.kind != "raw"
        out += file.written()
    return re.sub("\n{3,}", "\n\n", out + "\n\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n")


def amalgamate():
    """weir.c"""
    files = files_in_order(has_faults=True)
    headers, core = files[:len(PUBLIC)], files[len(PUBLIC):]
    public = {name for part in all_parts(headers) for name in part.names
              if part.function and not part.is_static or part.is_variable}
    tell_apart(files)
    keep(core, sorted(public))
    make_static(core, public)
    return source("weir.h", core, f"""
weir.c: Weir {version()}{source_id()}.

Crash-safe event capture for Linux processes: the whole C library in one file. weir.h says what it does. Made from
the files that the headings below name, by Packaging/amalgamate.py: change those files. It is C11 and C++17.

    cc app.c weir.c -llz4 -pthread

weir.c is compiled by itself: behind other headers, an #include of weir.c lacks what the file asks the system for.
Needs Linux on 64-bit x86 or ARM, gcc or clang, and liblz4. With -DWEIR_FAULT_INJECTION the functions weir_fail_…
make the disk under a log fail.

A library or a plug-in with this file in it is compiled with -fvisibility=hidden. Then it has a copy of Weir for
itself, even if the program exports the names of another copy. The copies of a process write to logs of their own: a
log that one copy has open is refused to the others (WEIR_ERROR_LOCKED).""")


def amalgamate_reader(functions):
    """weir_reader.h and weir_reader.c"""
    files = files_in_order(has_faults=False)
    headers = files[:len(PUBLIC)]
    public = {part.function for part in all_parts(headers) if part.function and not part.is_static}
    for name in functions:
        if name not in public:
            stop(f"{name} is no function of", ", ".join(PUBLIC))
    tell_apart(files)
    keep(headers, [*functions, *CONSTANTS])
    header = reader_header(headers, f"""
weir_reader.h: Weir {version()}{source_id()}.

Reads a log of Weir, live or after its writer's death, follows the log and verifies it. Nothing here writes to a log,
starts a thread or handles a signal. weir.h has the same declarations, and those of the writer: a source file
includes one of the two headers. A program links one of weir_reader.c, weir.c and libweir.

A reader belongs to one thread at a time. A call that can fail answers a status. A weir_error receives the errno, the
path and one line that says what is wrong, where, and what to do; `error` may always be null.""")
    in_header = {id(part) for part in all_parts(headers) if part.is_kept}
    keep(files, functions, lambda part: id(part) in in_header)
    for part in all_parts(headers):
        part.is_kept = part.is_kept and id(part) not in in_header
    make_static(files, set(functions))
    return header, source("weir_reader.h", files, f"""
weir_reader.c: Weir {version()}{source_id()}.

What reads a log of Weir, without what writes one: see weir_reader.h. Made from the files that the headings below
name, by Packaging/amalgamate.py: change those files. It is C11 and C++17. Needs liblz4.

    cc app.c weir_reader.c -llz4""")


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1])
    header, reader = amalgamate_reader(sys.argv[2:] or READER)
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in [("weir.h", whole_header()), ("weir.c", amalgamate()), ("weir_reader.h", header),
                       ("weir_reader.c", reader), ("LICENSE", pathlib.Path("LICENSE").read_text(encoding="utf-8"))]:
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:  # else nothing is to be compiled anew
            path.write_text(text, encoding="utf-8")


main()
