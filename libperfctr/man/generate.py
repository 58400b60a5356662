#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Man pages of the library's calls, from the comments in its headers.

usage: generate.py [--map FILE] [--version V] [--examples FOLDER] FOLDER HEADER...

Each function that is declared below a /** comment gets a page in section 3; functions that
follow it without a comment of their own (ref, unref) share it. The comment at the top of a header
becomes an overview page. With --map every symbol of a linker map must have got a page. What is
documented badly (an argument without its line, a result without Return:) is an error.
With --examples the code in the headers' first comments is written out, a function in a file each.
"""

import argparse
import os
import re
import sys


class DocError(Exception):
    pass


class Function:
    def __init__(self, header, prototype, comment, line):
        self.header = header
        self.prototype = prototype
        self.comment = comment
        self.line = line
        self.name = re.search(r"\b(perfctr_\w+)\s*\(", prototype).group(1)
        self.shared = []
        self.pointer = ""
        self.inline = False


class Struct:
    def __init__(self, kind, name, short, members):
        self.kind, self.name, self.short, self.members = kind, name, short, members


# --- reading ---------------------------------------------------------------

def comment_lines(text):
    """The text of a comment without its frame"""
    lines = text.strip().removeprefix("/**").removeprefix("/*").removesuffix("*/").split("\n")
    out = []
    for line in lines:
        line = re.sub(r"^\s*\* ?", "", line)
        out.append(line.rstrip())
    while out and not out[0].strip():
        out.pop(0)
    while out and not out[-1].strip():
        out.pop()
    return out


def parse_comment(lines):
    """{short, arguments: [(name, text)], body: [paragraph or list of lines], result}"""
    match = re.match(r"(?:(?:struct|enum|typedef)\s+)?(\w+)(?:\(\))?\s*-\s*(.*)", lines[0].strip())
    if not match:
        raise DocError(f"'{lines[0]}' is not NAME - SHORT")
    doc = {"name": match.group(1), "short": match.group(2), "arguments": [], "body": [],
           "result": ""}
    where, blank = "short", False
    for line in lines[1:]:
        text = line.strip()
        argument = re.match(r"@([\w.]+):\s*(.*)", text)
        if argument:
            doc["arguments"].append([argument.group(1), argument.group(2)])
            where = "arguments"
        elif text.startswith("Return:"):
            doc["result"] = text.removeprefix("Return:").strip()
            where = "result"
        elif not text:
            if where != "result":
                where = "body"
                blank = True
                continue
        elif where == "short":
            doc["short"] += " " + text
        elif where == "arguments":
            doc["arguments"][-1][1] += " " + text
        elif where == "result":
            doc["result"] += " " + text
        else:
            add_body(doc["body"], line, blank)
        blank = False
    return doc


def add_body(body, line, new_paragraph):
    """Lines that begin with a tab are shown as they are."""
    literal = line.startswith("\t")
    if not new_paragraph and body and isinstance(body[-1], list) == literal:
        if literal:
            body[-1].append(line[1:])
        else:
            body[-1] += " " + line.strip()
    else:
        body.append([line[1:]] if literal else line.strip())


def parse_members(text):
    """[(declaration, description)] of a struct or enum: a comment is in front of its member, or
    behind it in the same line"""
    end = ";" if ";" in re.sub(r"/\*.*?\*/", "", text, flags=re.S) else ","
    members, before = [], ""
    for m in re.finditer(rf"/\*(.*?)\*/|([^/{end}{{}}]+{end})", text, re.S):
        if m[2]:
            members.append([" ".join(m[2].split()).rstrip(end).split(" = ")[0], before])
            before = ""
            continue
        comment = " ".join(" ".join(comment_lines(f"/*{m[1]}*/")).split()).rstrip(".") + "."
        if text[:m.start()].rpartition("\n")[2].strip():
            members[-1][1] = comment
        else:
            before = comment
    return [member for member in members if member[1]]


def read_header(path, include):
    """(overview lines, functions, structs)"""
    with open(path, encoding="utf-8") as f:
        text = f.read()
    overview = None
    functions, structs, last = [], {}, None
    token = re.compile(
        r"(?P<comment>/\*.*?\*/)|(?P<type>^(?:struct|enum) (?P<tname>\w+) \{(?P<tbody>.*?)^\};)|"
        r"(?P<typedef>^typedef .*?;)|(?P<inline>^static inline (?P<ihead>[^{;]*?\))\s*\{.*?^\})|"
        r"(?P<function>^(?!struct \w+;|extern|typedef|#|static)"
        r"[a-z][\w\s\*]*?perfctr_\w+\([^;{]*?\);)", re.S | re.M)
    doc = None
    for m in token.finditer(text):
        line = text.count("\n", 0, m.start()) + 1
        if m.group("comment"):
            comment = m.group("comment")
            if comment.startswith("/**"):
                doc = (comment_lines(comment), line)
            else:
                lines = comment_lines(comment)
                if overview is None and not lines[0].strip().startswith("SPDX"):
                    overview = lines
                doc = None
        elif m.group("tname"):
            if doc:
                parsed = parse_comment(doc[0])
                kind = m.group("type").split()[0]
                structs[m.group("tname")] = Struct(kind, m.group("tname"), parsed["short"],
                                                   parse_members(m.group("tbody")))
            doc = None
        elif m.group("typedef"):
            doc = None
        else:
            prototype = " ".join((m.group("ihead") or m.group("function")).split()).rstrip(";")
            if doc:
                last = Function(include, prototype, parse_comment(doc[0]), f"{path}:{doc[1]}")
                last.inline = bool(m.group("inline"))
                functions.append(last)
            elif last and not m.group("inline"):
                last.shared.append(Function(include, prototype, None, f"{path}:{line}"))
            else:
                raise DocError(f"{path}:{line}: {prototype} has no comment")
            doc = None
    return overview or [], functions, structs


# --- checking --------------------------------------------------------------

def arguments_of(prototype):
    inside = prototype[prototype.index("(") + 1:prototype.rindex(")")].strip()
    if inside == "void":
        return []
    return [re.search(r"(\w+)(?:\[\w*\])?$", a.strip()).group(1) for a in inside.split(",")]


def add_objects(function):
    """Objects of the library explain themselves: "struct perfctr_session *session" needs no line"""
    have = dict(map(tuple, function.comment["arguments"]))
    for name in re.findall(r"struct perfctr_\w*?(\w+) \*\1\b", function.prototype):
        have.setdefault(name, {"ctx": "context"}.get(name, name))
    wanted = arguments_of(function.prototype)
    function.comment["arguments"] = sorted(have.items(), key=lambda item: wanted.index(item[0])
                                           if item[0] in wanted else -1)


def check_function(function):
    add_objects(function)
    doc = function.comment
    if doc["name"] != function.name:
        raise DocError(f"{function.line}: the comment is about {doc['name']}, "
                       f"the declaration about {function.name}")
    have, want = [a for a, _ in doc["arguments"]], arguments_of(function.prototype)
    if have != want:
        raise DocError(f"{function.line}: {function.name} documents {have}, it takes {want}")
    if not function.prototype.startswith("void ") and not doc["result"]:
        raise DocError(f"{function.line}: {function.name} does not say what it returns")
    for other in function.shared:
        if not re.search(r"_(ref|unref)$", other.name):
            raise DocError(f"{other.line}: {other.name} has no comment")


# --- writing ---------------------------------------------------------------

def escape(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text[:1] in (".", "'") else text


def prose(text):
    """@argument in italics, call() of the library and CONSTANTS in bold"""
    out = []
    for word in re.split(r"(@\w+|\bperfctr_\w+\(\)|\b(?:DRM_)?PERFCTR_[A-Z0-9_]+\b)", text):
        if word.startswith("@"):
            out.append(f"\\fI{escape(word[1:])}\\fP")
        elif word.endswith("()") and word.startswith("perfctr_"):
            out.append(f"\\fB{escape(word[:-2])}\\fP(3)")
        elif re.fullmatch(r"(DRM_)?PERFCTR_[A-Z0-9_]+", word):
            out.append(f"\\fB{escape(word)}\\fP")
        else:
            out.append(escape(word))
    text = "".join(out)
    # a sentence on a line of its own, as roff wants it
    return re.sub(r"(?<=[a-z)P3A-Z0-9][.:?]) (?=[A-Z\\])", "\n", text)


def paragraphs(body):
    out = []
    for part in body:
        if out:
            out.append(".PP")
        if isinstance(part, list):
            out += [".nf", *("\\&" + escape(line.expandtabs(8)) for line in part), ".fi"]
        else:
            out.append(prose(part))
    return out


def synopsis(function):
    out = [".nf", f".B #include <{function.header}>", ".PP"]
    for f in [function] + function.shared:
        head, inside = f.prototype.split("(", 1)
        arguments = [a.strip() for a in inside.removesuffix(")").split(",")]
        indent = " " * (len(head) + 1)
        lines, line = [], head + "("
        for n, argument in enumerate(arguments):
            piece = argument + (");" if n + 1 == len(arguments) else ",")
            if len(line) + len(piece) > 74 and line.strip() and not line.endswith("("):
                lines.append(line.rstrip())
                line = indent if len(indent) + len(piece) < 76 else " " * 8
            line += piece + " "
        lines.append(line.rstrip())
        out += [".BI " + " ".join(f'"{part}"' for part in emphasize(text)) for text in lines]
    return out + [".fi"]


def emphasize(line):
    """Parts that are bold and italic in turn: the names of arguments are italic."""
    parts, at = [], 0
    for match in re.finditer(r"(\w+)(?=[,)\[])", line):
        if match.group(1) == "void":
            continue
        parts += [line[at:match.start()], match.group(1)]
        at = match.end()
    parts.append(line[at:])
    return [escape(p).replace('"', "\\(dq") for p in parts]


def title(name, section, version):
    return [".\\\" SPDX-License-Identifier: MIT", ".\\\" generated from the library's headers",
            f".TH {name.upper()} {section} \"\" \"perfctr {version}\" \"Library Functions Manual\""]


def structure(struct):
    out = [f".SS {struct.kind} {escape(struct.name)}", prose(struct.short[0].upper() +
                                                             struct.short[1:]) + "."]
    for declaration, text in struct.members:
        out += [".TP", f".B {escape(declaration)}", prose(text)]
    return out


def references(function, names):
    found = re.findall(r"\b(perfctr_\w+)\(\)", str(function.comment["body"]) +
                       function.comment["result"] + str(function.comment["arguments"]))
    return sorted({f for f in found if f in names and f != function.name})


def page(function, structs, names, version):
    doc = function.comment
    shared = [f.name for f in function.shared]
    out = title(function.name, 3, version)
    out += [".SH NAME",
            escape(", ".join([function.name] + shared)) + " \\- " + escape(doc["short"]),
            ".SH LIBRARY", "libperfctr (\\-lperfctr), " + ("inline" if function.inline else
                                                           "pkg\\-config name perfctr"),
            ".SH SYNOPSIS", *synopsis(function), ".SH DESCRIPTION"]
    for name, text in doc["arguments"]:
        out += [".TP", f".I {escape(name)}", prose(text)]
    if doc["body"]:
        out += [".PP"] if doc["arguments"] else []
        out += paragraphs(doc["body"])
    elif not doc["arguments"]:
        out.append(prose(doc["short"][0].upper() + doc["short"][1:]) + ".")
    for f in function.shared:
        out += [".PP", f".BR {escape(f.name)} ()"]
        out.append("takes a reference and returns the object; NULL is accepted."
                   if f.name.endswith("_ref") else
                   "drops a reference, the last one ends the object, and returns NULL; NULL is "
                   "accepted.")
    used = [s for n, s in structs.items()
            if s.members and re.search(rf"\b(struct|enum) {n}\b", function.prototype +
                                       str(doc["arguments"]) + doc["result"])]
    if used:
        out.append(".SH STRUCTURES")
        for struct in used:
            out += structure(struct)
    if doc["result"]:
        out += [".SH RETURN VALUE", prose(doc["result"])]
    see = references(function, names)
    out += [".SH SEE ALSO", ".BR libperfctr (3)" + ("," if see else "")]
    out += [f".BR {escape(n)} (3)" + ("," if n != see[-1] else "") for n in see]
    return "\n".join(out) + "\n"


def overview_page(name, include, lines, functions, version):
    """The comment at the top of a header, and the calls that it has"""
    short = lines[0].removesuffix(".").split(": ", 1)[-1]
    short = short[0].lower() + short[1:]
    out = title(name, 3, version)
    out += [".SH NAME", f"{escape(name)} \\- {escape(short)}", ".SH SYNOPSIS", ".nf",
            f".B #include <{include}>", ".fi", ".SH DESCRIPTION", ".nf"]
    out += ["\\&" + escape(line.expandtabs(8)) for line in lines[1:]]
    out += [".fi"] + ([".SH FUNCTIONS"] if functions else [])
    for f in functions:
        out += [".TP", f".BR {escape(f.name)} (3)", escape(f.comment["short"])]
    out += [".SH SEE ALSO", ".BR perfctr (1)"]
    return "\n".join(out) + "\n"


def write(folder, name, text):
    with open(os.path.join(folder, name + ".3"), "w", encoding="utf-8") as f:
        f.write(text)


def example(overview, include):
    """The code of a comment as a function, or None"""
    code, part = [], []
    for line in overview + ["."]:
        if line.startswith("\t") or not line:
            part.append(line)
            continue
        if any(line.startswith("\tstruct ") for line in part):
            code += part
        part = []
    if not code:
        return None
    return "\n".join(["#include <unistd.h>", f"#include <{include}>", "",
                      "int example(const void *bytes, size_t size, uint64_t *result);", "",
                      "int example(const void *bytes, size_t size, uint64_t *result)", "{",
                      "\tuint64_t total = 0;", "", *code, "\t*result = total + size;",
                      "\treturn !bytes;", "}", ""])


OVERVIEWS = {"perfctr.h": "libperfctr", "decode.h": "perfctr_decode",
             "capture.h": "perfctr_capture", "broker.h": "perfctr_broker"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--map")
    parser.add_argument("--version", default="")
    parser.add_argument("--examples")
    parser.add_argument("folder")
    parser.add_argument("headers", nargs="+")
    args = parser.parse_args()

    headers, structs = [], {}
    for path in args.headers:
        include = "perfctr/" + os.path.basename(path)
        overview, functions, types = read_header(path, include)
        structs.update(types)
        headers.append((os.path.basename(path), overview, functions))
    functions = [f for _, _, some in headers for f in some]
    names = {n.name for f in functions for n in [f] + f.shared}
    for function in functions:
        check_function(function)

    os.makedirs(args.folder, exist_ok=True)
    for old in os.listdir(args.folder):
        os.unlink(os.path.join(args.folder, old))
    for function in functions:
        write(args.folder, function.name, page(function, structs, names, args.version))
        for other in function.shared:
            os.symlink(function.name + ".3", os.path.join(args.folder, other.name + ".3"))
    for name, overview, some in headers:
        if name in OVERVIEWS:
            write(args.folder, OVERVIEWS[name],
                  overview_page(OVERVIEWS[name], "perfctr/" + name, overview, some, args.version))
    for name, overview, _ in headers if args.examples else []:
        code = example(overview, "perfctr/" + name)
        if code:
            with open(os.path.join(args.examples, name.replace(".h", ".c")), "w",
                      encoding="utf-8") as f:
                f.write(code)
    if args.map:
        with open(args.map, encoding="utf-8") as f:
            symbols = set(re.findall(r"^\s+(perfctr_\w+);", f.read(), re.M))
        if symbols - names:
            raise DocError(f"exported and without a page: {', '.join(sorted(symbols - names))}")
        inline = {f.name for f in functions if f.inline}
        if names - symbols - inline:
            raise DocError("declared and not exported: " +
                           ", ".join(sorted(names - symbols - inline)))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except DocError as error:
        print(f"man: {error}", file=sys.stderr)
        sys.exit(1)
