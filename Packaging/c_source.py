"""C as the core is written: the declarations, macros, comments and conditionals of a file, each with the names that it
has and the names that it uses. For amalgamate.py.

A declaration is whatever ends at `;` or with a function's body, at the end of a line. Macros are not expanded.
"""

import pathlib
import re
import sys

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
KEYWORDS = set("""auto break case char const continue default do double else enum extern float for goto if inline int
    long register return short signed sizeof static struct switch typedef union unsigned void volatile while""".split())
OPERATORS = {"+", "-", "*", "=", "<", ">", "&", "|", "?", ":"}
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
        self.is_static = self.is_extern = self.is_variable = self.is_forward = self.is_assert = False
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
                has_type = before == "*" or WORD.fullmatch(before) and before not in ("return", "else", "case")
                is_type = before == "struct" or WORD.match(after) or after == "*" and before not in OPERATORS
                if not text.isupper() and (has_type and after in ("=", ";", ",", ")", "[") or
                                           before == "," and after in ("=", ";")):
                    variables.add(text)
                elif text not in variables or is_type:
                    self.uses.add(text)
        self.uses -= KEYWORDS

    def find_names(self, code):
        self.is_assert = code[0] == "static_assert"
        if self.is_assert:
            return
        self.is_static, self.is_extern = bool(STATIC.intersection(code[:3])), code[0] == "extern"
        self.is_forward = code[0] == "typedef" and code[1] == "struct" and code[2:] == [code[2], code[2], ";"]
        outside = without_groups(code)
        head = outside[:outside.index("=")] if "=" in outside else outside
        for place, text in enumerate(code):
            if text in ("struct", "union", "enum") and place < 2 and WORD.match(code[place + 1]):
                if code[place + 2] in "{;" or code[0] == "typedef":
                    self.names.append(code[place + 1])
            if text == "enum" and "{" in code[place + 1:place + 3] and code[-1] == ";":
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
                renamed = re.sub(r"(?<![\w.>#])[A-Za-z_]\w*", lambda word: names.get(word[0], word[0]), text)
                self.tokens[index] = (kind, renamed)
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
                is_extern_c = text == "{" and code == ["extern", '"C"'] or text == "}" and not code
                if kind == "mark" and not is_extern_c:
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

    def keep_comments(self, has_first):
        """The headings of what is kept, and directives; with `has_first` what the file says of itself."""
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
                    has_more = any(part.is_kept and part.kind != "raw" for part in self.parts(below))
                    node.is_kept = has_first if index == 0 else has_more

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
