#!/usr/bin/env python3
"""Manual pages: of the tool from what it says of itself, of the C functions from the comments in their headers.

    manual.py commands FOLDER TOOL         weir(1), and weir-COMMAND(1) for each command
    manual.py functions FOLDER HEADER...   weir(3), and a page for each function and structure

FOLDER is made. Whatever a page says stands in the tool or in the headers; this only lays it out.
"""

import itertools
import json
import pathlib
import re
import subprocess
import sys

sys.dont_write_bytecode = True


def escaped(text):
    """Text as troff reads it: backslashes and hyphens are themselves, and no line begins a request."""
    text = text.replace("…", "...")
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga")
    return re.sub(r"(?m)^\.", r"\\&.", text)


def filled(text):
    """Paragraphs of prose, in which indented lines stay as they are."""
    lines = []
    for paragraph in re.split(r"\n[ \t]*\n", text.strip("\n")):
        lines.append(".PP")
        for is_indented, rows in itertools.groupby(paragraph.split("\n"), lambda row: row.startswith("  ")):
            shown = escaped("\n".join(rows))
            lines += [".EX", shown, ".EE"] if is_indented else [shown]
    return lines


class Page:
    def __init__(self, name, section, title, version, names=None):
        self.name, self.section = name, section
        self.lines = [
            f'.TH "{name.upper()}" "{section}" "" "Weir {version}" "Weir"',
            ".nh", ".ad l", ".SH NAME", f"{escaped(', '.join(names or [name]))} \\- {escaped(title)}"]

    def heading(self, text):
        self.lines.append(f".SH {text}")

    def add(self, *lines):
        self.lines += lines

    def write(self, folder):
        path = folder / f"{self.name}.{self.section}"
        path.write_text("\n".join(self.lines) + "\n")


# ---- The tool ------------------------------------------------------------------------------------------------------


def spelled(name):
    return ("-" if name["kind"] == "short" else "--") + name["name"]


def synopsis(command, words):
    parts = [f"\\fB{escaped(' '.join(words))}\\fP"]
    if command.get("subcommands"):
        parts.append("\\fICOMMAND\\fP")
    for argument in command.get("arguments", []):
        value = f"\\fI{escaped(argument['valueName'].upper())}\\fP"
        if argument["kind"] == "positional":
            value += "..." if argument["isRepeating"] else ""
            parts.append(f"[{value}]" if argument["isOptional"] else value)
    parts.append("[\\fIOPTION\\fP]...")
    return " ".join(parts)


def arguments(command, page):
    shown = [each for each in command.get("arguments", []) if each.get("shouldDisplay", True)]
    for heading, kinds in [("ARGUMENTS", ["positional"]), ("OPTIONS", ["option", "flag"])]:
        chosen = [each for each in shown if each["kind"] in kinds]
        if chosen:
            page.heading(heading)
        for each in chosen:
            value = each["valueName"]
            if each["kind"] == "positional":
                title = f"\\fI{escaped(value.upper())}\\fP"
            else:
                title = ", ".join(f"\\fB{escaped(spelled(name))}\\fP" for name in each["names"])
                if each["kind"] == "option":
                    title += f" \\fI{escaped(value.upper())}\\fP"
            text = each.get("abstract", "")
            if each.get("defaultValue") and each["kind"] == "option":
                text += f" Default: {each['defaultValue']}."
            page.add(".TP", title, escaped(text))
            if each.get("discussion"):
                page.add(".IP", escaped(each["discussion"]))


def command_pages(command, words, version):
    """The pages of a command and of all below it."""
    page = Page("-".join(words), 1, command["abstract"].rstrip("."), version)
    page.heading("SYNOPSIS")
    page.add(synopsis(command, words))
    page.heading("DESCRIPTION")
    page.add(*filled(command.get("discussion", command["abstract"])))
    below = [each for each in command.get("subcommands", []) if each["commandName"] != "help"]
    if below:
        page.heading("COMMANDS")
        for each in below:
            page.add(".TP", f"\\fB{escaped('-'.join([*words, each['commandName']]))}\\fP(1)", escaped(each["abstract"]))
    arguments(command, page)
    page.heading('"SEE ALSO"')
    page.add("\\fBweir\\fP(3)" if len(words) == 1 else "\\fBweir\\fP(1)")
    yield page
    for each in below:
        yield from command_pages(each, [*words, each["commandName"]], version)


def commands(folder, tool):
    run = subprocess.run([tool, "--experimental-dump-help"], check=True, capture_output=True, text=True)
    version = subprocess.run([tool, "--version"], check=True, capture_output=True, text=True).stdout.strip()
    for page in command_pages(json.loads(run.stdout)["command"], ["weir"], version):
        page.write(folder)


# ---- The functions -------------------------------------------------------------------------------------------------

COMMENT = re.compile(r"/\*(.*?)\*/", re.S)
SECTION = re.compile(r"^ ?-{4} (.*?) -{4,} ?$")


def prose(comment):
    """The text of a comment, without the stars."""
    lines = [re.sub(r"^ ?\* ?", "", line) for line in comment.strip("\n").split("\n")]
    return "\n".join(line.rstrip() for line in lines).strip("\n").strip()


def declarations(text):
    """What a header declares, as (section, comment, code), in order; without code: a comment that stands alone."""
    text = re.sub(r'(?s)#ifdef __cplusplus\n(extern "C" \{|\})\n#endif\n', "", text)
    section, comment, position = None, None, 0
    found = re.compile(r"\s*(?:(/\*.*?\*/)(\n\n)?|(#(?:[^\n]*\\\n)*[^\n]*)|([^/#\s](?:[^/{};]|/(?!\*)|/\*.*?\*/)*))", re.S)
    while match := found.match(text, position):
        trails = match[1] and text[text.rfind("\n", 0, match.start(1)) + 1:match.start(1)].strip()
        position = match.end()
        if trails:
            continue
        if match[1]:
            inside = match[1][2:-2]
            if title := SECTION.match(inside):
                section, comment = title[1], None
            elif match[2]:
                yield section, prose(inside), None
                comment = None
            else:
                comment = prose(inside)
        elif match[3]:
            if comment and match[3].startswith("#define"):
                yield section, comment, match[3]
            comment = None if match[3].startswith("#") else comment
        else:
            code = match[4]
            if text[position] == "{":
                end, depth = position, 0
                while True:
                    depth += {"{": 1, "}": -1}.get(text[end], 0)
                    end += 1
                    if depth == 0:
                        break
                body = text[position:end]
                is_function = "(" in re.sub(r"__attribute__\(\(.*?\)\)", "", code)
                position = end
                if is_function:
                    code = code.strip() + ";"
                else:
                    end = text.index(";", position) + 1
                    code, position = code + body + text[position:end], end
            else:
                position += 1
                code += ";"
            yield section, comment, code
            comment = None


def title_of(comment):
    """The first sentence, on one line, as short as a list of pages wants it."""
    sentence = re.split(r"(?<=[.:;])\s", comment.replace("\n", " "), maxsplit=1)[0].rstrip(".:;")
    return sentence if len(sentence) <= 100 else sentence[:100].rsplit(" ", 1)[0] + " ..."


class Functions:
    def __init__(self, folder, version):
        self.folder, self.version = folder, version
        self.header = None
        self.sections = []
        self.pages = {}
        self.last = None
        self.is_private = False

    def take(self, header, text):
        # weir.h includes weir_capture.h.
        self.header = "weir.h" if header == "weir_capture.h" else header
        whole = {"weir.h": "Version", "weir_failing.h": "Failing disks"}.get(header, "Capturing")
        for section, comment, code in declarations(text):
            if comment:
                self.is_private = comment.startswith(("Private", header))
            if self.is_private:
                self.last = None
                continue
            title = section or whole
            if not self.sections or self.sections[-1][0] != title:
                self.sections.append((title, []))
                self.last = None
            if code is None:
                self.sections[-1][1].append(("text", comment))
                self.last = None
                continue
            self.declare(code, comment)

    def declare(self, code, comment):
        code = re.sub(r"^(WEIR_INLINE|static inline) ", "", code.strip())
        function = re.search(r"\b(weir_\w+)\(", code.split("{")[0])
        structure = re.search(r"\}\s*(weir_\w+);$", code)
        name = structure or function
        entries = self.sections[-1][1]
        if not name or code.startswith(("enum", "#")) or (code.startswith("typedef") and not structure):
            entries.append(("code", (comment, code)))
            self.last = None
            return
        if comment is None and structure:
            comment = "What the functions of this section fill in or take."
        if comment is None and self.last is None:
            entries.append(("code", (None, code)))
            return
        if comment is None:
            self.last.codes.append(code)
            self.pages[name[1]] = self.last
            return
        self.last = Declared(self.header, name[1], [code], comment)
        self.pages[name[1]] = self.last
        entries.append(("page", self.last))

    def write(self):
        for name, declared in self.pages.items():
            if name != declared.name:
                (self.folder / f"{name}.3").write_text(f".so man3/{declared.name}.3\n")
                continue
            names = [each for each, of in self.pages.items() if of is declared]
            page = Page(name, 3, title_of(declared.comment), self.version, names)
            page.heading("LIBRARY")
            page.add("Weir (\\fIlibweir\\fP, \\fI\\-lweir\\fP)")
            page.heading("SYNOPSIS")
            page.add(".nf", f"\\fB#include <{declared.header}>\\fP", ".PP", escaped("\n".join(declared.codes)), ".fi")
            page.heading("DESCRIPTION")
            page.add(*filled(declared.comment))
            page.heading('"SEE ALSO"')
            page.add("\\fBweir\\fP(3)")
            page.write(self.folder)

    def write_overview(self, introduction):
        page = Page("weir", 3, "crash-safe event capture", self.version)
        page.heading("LIBRARY")
        page.add("Weir (\\fIlibweir\\fP, \\fI\\-lweir\\fP)")
        page.heading("SYNOPSIS")
        page.add(".nf", "\\fB#include <weir.h>\\fP", ".PP", "\\fBcc program.c $(pkg\\-config \\-\\-cflags \\-\\-libs weir)\\fP", ".fi")
        page.heading("DESCRIPTION")
        page.add(*filled(introduction))
        for title, entries in self.sections:
            page.heading(f'"{title.upper()}"')
            for kind, value in entries:
                if kind == "text":
                    page.add(*filled(value))
                elif kind == "page":
                    page.add(".TP", f"\\fB{escaped(value.name)}\\fP(3)", escaped(title_of(value.comment)) + ".")
                else:
                    comment, code = value
                    page.add(*(filled(comment) if comment else []), ".PP", ".EX", escaped(code), ".EE")
        page.write(self.folder)


class Declared:
    def __init__(self, header, name, codes, comment):
        self.header, self.name, self.codes, self.comment = header, name, codes, comment


def functions(folder, *headers):
    texts = {pathlib.Path(path).name: pathlib.Path(path).read_text() for path in headers}
    version = re.search(r'#define WEIR_VERSION "(.*)"', texts["weir.h"])[1]
    pages = Functions(folder, version)
    for header, text in texts.items():
        pages.take(header, text)
    pages.write()
    introduction = prose(COMMENT.search(texts["weir.h"])[1])
    pages.write_overview(introduction.partition(": ")[2])


def main(words):
    if len(words) < 3 or words[0] not in ("commands", "functions"):
        sys.exit("usage: manual.py commands FOLDER TOOL | functions FOLDER HEADER...")
    folder = pathlib.Path(words[1])
    folder.mkdir(parents=True)
    {"commands": commands, "functions": functions}[words[0]](folder, *words[2:])


if __name__ == "__main__":
    main(sys.argv[1:])
