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

A declaration is whatever ends at `;` or with a function's body, at the end of a line, as the core is written. A name is
followed wherever it occurs, other than as a member, so what stays is never too little.
"""

import pathlib
import re
import subprocess
import sys

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

TOKEN = re.compile(
    r"""
    (?P<directive> ^[ \t]*\#(?: /\*.*?\*/ | \\\n | [^\n] )* )
  | (?P<comment> /\*.*?\*/ | //[^\n]* )
  | (?P<text> "(?:\\.|[^"\\])*" | '(?:\\.|[^'\\])*' )
  | (?P<word> [A-Za-z_]\w* )
  | (?P<number> \d(?:[eEpP][+-]|[\w.])* )
  | (?P<space> \s+ )
  | (?P<mark> -> | \.\.\. | . )""", re.X | re.S | re.M)
WORD = re.compile(r"[A-Za-z_]\w*")
KEYWORDS = set("""auto break case char const continue default do double else enum extern float for goto if inline int long
    register return short signed sizeof static struct switch typedef union unsigned void volatile while""".split())
STATIC = {"static", "WEIR_INLINE"}
ASIDE = {"__attribute__", "__asm__", "alignas", "WEIR_ABI"}


def stop(*words):
    sys.exit("weir: amalgamate.py: " + " ".join(map(str, words)))


def tokens_of(text):
    return [(match.lastgroup, match.group()) for match in TOKEN.finditer(text)]


def code_of(tokens):
    return [text for kind, text in tokens if kind not in ("space", "comment", "directive")]


def words_of(directive):
    return {text for kind, text in tokens_of(directive.replace("#", " ", 1)) if kind == "word"}


# ---- A declaration ---------------------------------------------------------------------------------------------------


class Part:
    """A declaration, a definition, a macro, a directive or a comment: what stays or goes as a whole."""

    def __init__(self, file, kind, tokens, conditions, gap):
        self.file, self.kind, self.tokens, self.conditions, self.gap = file, kind, tokens, conditions, gap
        self.is_kept = False
        self.understand()

    def understand(self):
        self.names, self.uses, self.function, self.members = [], set(), None, set()
        self.is_static = self.is_extern = self.is_variable = self.is_body = self.is_forward = self.is_assert = False
        for kind, text in self.tokens:
            if kind == "directive":
                self.uses |= words_of(text)
        if self.kind == "define":
            self.names = [re.match(r"\s*#\s*define\s+(\w+)", self.tokens[-1][1]).group(1)]
        elif self.kind == "code":
            self.find_uses()
            self.find_names(without_aside(code_of(self.tokens)))
        self.uses |= {word for text in self.conditions for word in words_of(text)}

    def find_uses(self):
        """The words that are no members, and no more than names of parameters and variables within."""
        code = [(index, kind, text) for index, (kind, text) in enumerate(self.tokens)
                if kind not in ("space", "comment", "directive")]
        texts = ["", "", *(text for _, _, text in code), "", ""]
        inside, variables = [], set()  # of each open brace, whether it is a structure's
        for place, (index, kind, text) in enumerate(code, 2):
            before, after = texts[place - 1], texts[place + 1]
            if text == "{":
                inside.append(before in ("struct", "union") or texts[place - 2] in ("struct", "union"))
            elif text == "}":
                inside.pop()
            elif kind == "word" and inside and inside[-1] and after in (";", ",", "[", ":", ")"):
                self.members.add(index)
            elif kind == "word" and before not in (".", "->"):
                is_declared = before == "*" or WORD.fullmatch(before) and before not in ("return", "else", "case")
                if is_declared and after in ("=", ";", ",", ")", "[") and not text.isupper():
                    variables.add(text)
                elif text not in variables or before == "struct" or WORD.match(after) or \
                        after == "*" and before not in ("+", "-", "*", "=", "<", ">", "&", "|", "?", ":"):
                    self.uses.add(text)
        self.uses -= KEYWORDS

    def find_names(self, code):
        self.is_assert = code[0] == "static_assert"
        if self.is_assert:
            return
        self.is_static, self.is_extern = bool(STATIC.intersection(code[:3])), code[0] == "extern"
        self.is_body = code[-1] == "}"
        self.is_forward = code[0] == "typedef" and code[1] == "struct" and code[2:] == [code[2], code[2], ";"]
        outside = without_groups(code)
        head = outside[:outside.index("=")] if "=" in outside else outside
        for place, text in enumerate(code):
            if text in ("struct", "union", "enum") and place < 2 and WORD.match(code[place + 1]):
                if code[place + 2] in "{;" or code[0] == "typedef":
                    self.names.append(code[place + 1])
            if text == "enum" and "{" in code[place + 1:place + 3] and not self.is_body:
                self.names += enumerators(code, code.index("{", place))
        if code[0] == "typedef":
            is_pointer = "(" in head and code[code.index("(") + 1] == "*"
            self.names.append(pointer_name(code) if is_pointer else last_word(head))
        elif "(" in head and code[code.index("(") + 1] == "*":
            self.names.append(pointer_name(code))
            self.is_variable = True
        elif "(" in head:
            self.function = head[head.index("(") - 1]
            self.names.append(self.function)
        else:
            declared = re.sub(r" = [^,;]*", " ", " ".join(outside)).split()
            named = [declared[place - 1] for place, text in enumerate(declared) if text in ";,[" and place > 1
                     and WORD.fullmatch(declared[place - 1])]
            self.is_variable = outside[0] not in ("struct", "union", "enum") or len(outside) > 5 or "=" in outside
            if self.is_variable:
                self.names += named
        if not self.names:
            stop("a declaration without a name:", " ".join(code[:20]))

    @property
    def is_shared(self):
        """Whether other files may use it."""
        return self.file.is_header or not self.is_static and (self.function or self.is_variable)

    @property
    def text(self):
        return "".join(text for _, text in self.tokens)

    def rename(self, names):
        previous = ""
        for index, (kind, text) in enumerate(self.tokens):
            if kind == "directive":
                self.tokens[index] = (kind, re.sub(r"(?<![\w.>#])[A-Za-z_]\w*", lambda match: names.get(match[0], match[0]), text))
            elif kind == "word" and previous not in (".", "->") and index not in self.members:
                self.tokens[index] = (kind, names.get(text, text))
            if kind not in ("space", "comment"):
                previous = text
        self.understand()

    def make_static(self):
        first = next(index for index, (kind, _) in enumerate(self.tokens) if kind not in ("space", "comment"))
        self.tokens.insert(first, ("word", "static "))


def without_aside(code):
    """Without attributes and the like, which say nothing of names."""
    out, depth, is_aside = [], 0, False
    for text in code:
        is_aside = is_aside or text in ASIDE
        if not is_aside:
            out.append(text)
        elif text not in ASIDE:
            depth += (text == "(") - (text == ")")
            is_aside = depth > 0
    return out


def without_groups(code):
    """What stands outside of all brackets, and the brackets."""
    out, depth = [], 0
    for text in code:
        depth -= text in (")", "]", "}")
        if depth == 0:
            out.append(text)
        depth += text in ("(", "[", "{")
    return out


def enumerators(code, at):
    names, depth = [], 0
    for place in range(at, len(code)):
        if depth == 1 and code[place - 1] in ("{", ",") and WORD.fullmatch(code[place]):
            names.append(code[place])
        depth += (code[place] in "({") - (code[place] in ")}")
        if depth == 0:
            return names
    return names


def last_word(outside):
    return [text for text in outside if WORD.fullmatch(text)][-1]


def pointer_name(code):
    """x of `void (*x)(int)`."""
    return next(text for text in code[code.index("(") + 1:] if WORD.fullmatch(text) and text not in KEYWORDS)


# ---- A file ----------------------------------------------------------------------------------------------------------


class Conditional:
    """#if to #endif: branches, each a directive and what follows it."""

    def __init__(self, directive, gap):
        self.branches, self.end, self.gap = [(directive, [])], "", gap


class File:
    def __init__(self, name, text):
        self.name, self.stem = name, pathlib.Path(name).stem
        self.is_header = name.endswith(".h")
        self.system, self.own = [], []  # what it includes
        self.parse(text)
        self.drop_guard()

    def parse(self, text):
        self.nodes, chunk, open_ones, depth, gap = [], [], [], 0, "\n\n"

        def add(kind, tokens):
            nonlocal gap
            conditions = tuple(directive for each in open_ones for directive, _ in each.branches)
            while tokens and tokens[-1][0] == "space":
                tokens.pop()
            where().append(Part(self, kind, tokens, conditions, gap))
            gap = "\n"

        def where():
            return open_ones[-1].branches[-1][1] if open_ones else self.nodes

        for kind, text in [*tokens_of(text), ("space", "\n\n")]:
            code = code_of(chunk) if depth == 0 else ["…"]
            if kind == "space" and depth == 0 and "\n" in text and is_complete(code):
                add("raw" if code in (["extern", '"C"', "{"], ["}"]) else "code", chunk)
                chunk = []
            elif kind == "space" and depth == 0 and text.count("\n") > 1 and chunk and not code:
                add("comment", chunk)
                chunk = []
            elif kind == "directive" and not code:
                word = re.match(r"\s*#\s*(\w+)", text).group(1)
                if word == "define":
                    add("define", chunk + [(kind, text)])
                    chunk = []
                    continue
                if chunk:
                    add("comment", chunk)
                    chunk = []
                self.take_directive(word, text, where, open_ones, add, gap)
                continue
            elif kind != "space" or chunk:
                if kind == "mark" and not (text == "{" and code == ["extern", '"C"']) and not (text == "}" and not code):
                    depth += (text in "([{") - (text in ")]}")
                chunk.append((kind, text))
                continue
            if text.count("\n") > 1:
                gap = "\n\n"
        if chunk or open_ones:
            stop(self.name, "ends within a declaration or a conditional")

    def take_directive(self, word, text, where, open_ones, add, gap):
        if word in ("if", "ifdef", "ifndef"):
            where().append(Conditional(text, gap))
            open_ones.append(where()[-1])
        elif word in ("else", "elif"):
            open_ones[-1].branches.append((text, []))
        elif word == "endif":
            open_ones.pop().end = text
        elif word == "include" and '"' in text:
            self.own.append(re.search('"(.+)"', text).group(1))
        elif word == "include" and len(open_ones) <= self.is_header:
            self.system.append(re.search("<(.+)>", text).group(1))
        else:
            add("raw", [("directive", text)])

    def drop_guard(self):
        for index, node in enumerate(self.nodes):
            if isinstance(node, Conditional):
                inside = node.branches[0][1]
                if self.is_header and inside and isinstance(inside[0], Part) and inside[0].kind == "define" and \
                        inside[0].text.split()[1:] == node.branches[0][0].split()[1:]:
                    self.nodes[index:index + 1] = inside[1:]
                    for part in self.parts():
                        part.conditions = part.conditions[1:]
                return

    def parts(self, nodes=None):
        for node in self.nodes if nodes is None else nodes:
            if isinstance(node, Part):
                yield node
            else:
                for _, branch in node.branches:
                    yield from self.parts(branch)

    @property
    def is_kept(self):
        return any(part.is_kept for part in self.parts() if part.kind in ("code", "define"))

    def keep_comments(self):
        """The first one, directives, and the headings of what is kept."""
        if self.is_kept:
            for part in self.parts():
                part.is_kept = part.is_kept or part.kind == "raw"
            for index, node in enumerate(self.nodes):
                if isinstance(node, Part) and node.kind == "comment":
                    below = []
                    for other in self.nodes[index + 1:]:
                        if isinstance(other, Part) and other.kind == "comment":
                            break
                        below.append(other)
                    node.is_kept = index == 0 or any(part.is_kept for part in self.parts(below))

    def written(self, nodes=None):
        out, gap = "", "\n"
        for node in self.nodes if nodes is None else nodes:
            gap = max(gap, node.gap)
            if isinstance(node, Part):
                shown = node.text if node.is_kept else ""
            elif any(part.is_kept for part in self.parts([node])):
                shown = "".join(f"{directive}\n{self.written(branch).strip()}\n" for directive, branch in node.branches)
                shown = re.sub("\n\n+(?=#e)", "\n", shown + node.end)
            else:
                shown = ""
            if shown:
                out += gap + shown
                gap = "\n"
        return out


def is_complete(code):
    if not code or code[-1] not in (";", "}", "{"):
        return False
    if code in (["extern", '"C"', "{"], ["}"]) or code[-1] == ";":
        return True
    opened = without_groups(code)
    return code[-1] == "}" and opened[-2] == "{" and opened[-3] == ")" and "=" not in opened


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
        file.keep_comments()
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
        file.keep_comments()
        if file.nodes and isinstance(file.nodes[0], Part) and file.nodes[0].kind == "comment":
            file.nodes[0].is_kept = False  # it is about capturing
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

Crash-safe event capture for Linux processes: the whole C library in one file. weir.h says what it does. Made from the
files that the headings below name, by Packaging/amalgamate.py; change those. It is C11 and C++17.

    cc app.c weir.c -llz4 -pthread

Needs Linux on 64-bit x86 or ARM, gcc or clang, and liblz4. With -DWEIR_FAULT_INJECTION the functions weir_fail_… make
the disk under a log fail.

A plug-in or a library that brings this file along is compiled with -fvisibility=hidden. Its copy then stays its own,
whatever else of the process has Weir in it. One process may have any number of copies; no two of them have one log open
at the same time.""")


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
starts a thread or handles a signal. weir.h has the same declarations, beside those of the writer: a file includes one of
the two headers, and a program has one of weir_reader.c, weir.c and libweir.

A reader belongs to one thread at a time. An error is a status and, where a weir_error is given, one line that says what
is wrong, where, and what to do; `error` may always be null.""")
    in_header = {id(part) for part in all_parts(headers) if part.is_kept}
    keep(files, functions, lambda part: id(part) in in_header)
    for part in all_parts(headers):
        part.is_kept = part.is_kept and id(part) not in in_header
    make_static(files, set(functions))
    return header, source("weir_reader.h", files, f"""
weir_reader.c: Weir {version()}{source_id()}.

What reads a log of Weir, without what writes one: see weir_reader.h. Made from the files that the headings below name,
by Packaging/amalgamate.py; change those. It is C11 and C++17. Needs liblz4.

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
