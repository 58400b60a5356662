# SPDX-License-Identifier: MIT
"""Formulas of metrics: reading, names, units."""
import re

FUNCTIONS = ("min", "max")
VARIABLE_UNITS = {"elapsed_ns": "ns", "elapsed_s": "s", "block.cycles": "cycles",
                  "block.count": "", "ext_bus_bytes": "bytes/beat"}


def tokens(formula):
    """Split a formula; raises ValueError at a character that has no place in one."""
    out, at = [], 0
    pattern = re.compile(r"\s*(?:(\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)?)"
                         r"|([-+*/(),])|\[([a-z%/]*)\])")
    while formula[at:].strip():
        match = pattern.match(formula, at)
        if not match:
            raise ValueError(f"'{formula[at:].strip()[0]}' has no place in a formula")
        number, name, sign, unit = match.groups()
        out.append(("number", number) if number else ("name", name) if name else
                   (sign, sign) if sign else ("unit", unit))
        at = match.end()
    return out + [("end", "the end")]


def walk(formula, algebra):
    """Read a formula in the grammar of src/counters/expr.c and compute it in an algebra."""
    stream = tokens(formula)

    def take(kind=None):
        if kind and stream[0][0] != kind:
            raise ValueError(f"'{kind}' expected, found '{stream[0][1]}'")
        return stream.pop(0)

    def primary():
        kind, text = take()
        if kind == "number":
            value = algebra.number(text)
        elif kind == "(":
            value = algebra.group(total())
            take(")")
        elif kind == "-":
            return algebra.combine("-", algebra.number("0"), primary())
        elif kind != "name":
            raise ValueError(f"a value expected, found '{text}'")
        elif stream[0][0] != "(":
            value = algebra.name(text)
        elif text not in FUNCTIONS:
            raise ValueError(f"unknown function '{text}'; known: {', '.join(FUNCTIONS)}")
        else:
            take("(")
            arguments = [total()]
            take(",")
            arguments.append(total())
            while stream[0][0] == ",":
                take()
                arguments.append(total())
            take(")")
            value = algebra.call(text, arguments)
        return algebra.cast(value, take()[1]) if stream[0][0] == "unit" else value

    def product():
        value = primary()
        while stream[0][0] in ("*", "/"):
            value = algebra.combine(take()[0], value, primary())
        return value

    def total():
        value = product()
        while stream[0][0] in ("+", "-"):
            value = algebra.combine(take()[0], value, product())
        return value

    value = total()
    take("end")
    return value


class Text:
    """Algebra of texts: the formula as the library reads it, each name replaced."""

    def __init__(self, replace=lambda name: name):
        self.name = replace

    number = staticmethod(lambda text: text)
    group = staticmethod(lambda value: f"({value})")
    cast = staticmethod(lambda value, unit: value)
    combine = staticmethod(lambda sign, a, b: f"{a} {sign} {b}")
    call = staticmethod(lambda function, arguments: f"{function}({', '.join(arguments)})")


def names_of(formula):
    """The names that a formula uses."""
    used = []
    walk(formula, Text(lambda name: used.append(name) or name))
    return used


def singular(word):
    for plural, ending in (("ies", "y"), ("sses", "ss"), ("xes", "x"), ("ches", "ch"),
                           ("shes", "sh"), ("dices", "dex"), ("rtices", "rtex")):
        if word.endswith(plural):
            return word[:-len(plural)] + ending
    return word[:-1] if word.endswith("s") and word not in ("s", "ns") else word


def dimension(unit):
    """A unit as powers: bytes/s is {byte: 1, s: -1}; % has none."""
    powers = {}
    for at, part in enumerate(unit.replace("Hz", "cycles/s").split("/")):
        for word in part.split(" x "):
            if word and word != "%":
                powers[singular(word)] = powers.get(singular(word), 0) + (-1 if at else 1)
    return {word: power for word, power in powers.items() if power}


def unit_text(powers):
    over = [word for word, power in sorted(powers.items()) for _ in range(power)]
    under = [word for word, power in sorted(powers.items()) for _ in range(-power)]
    return "/".join([" x ".join(over) or "1"] + under)


class Units:
    """Algebra of units; None is the number 0, which has every unit."""

    def __init__(self, unit_of):
        self.name = lambda name: dimension(unit_of(name))

    number = staticmethod(lambda text: {} if float(text) else None)
    group = staticmethod(lambda value: value)
    cast = staticmethod(lambda value, unit: dimension(unit))

    def combine(self, sign, a, b):
        if sign in "+-":
            if a is not None and b is not None and a != b:
                raise ValueError(f"'{sign}' of {unit_text(a)} and {unit_text(b)}")
            return b if a is None else a
        if sign == "/" and b is None:
            raise ValueError("a division by 0")
        if a is None or b is None:
            return a
        powers = {word: a.get(word, 0) + (b.get(word, 0) if sign == "*" else -b.get(word, 0))
                  for word in {**a, **b}}
        return {word: power for word, power in powers.items() if power}

    def call(self, function, arguments):
        value = arguments[0]
        for other in arguments[1:]:
            value = self.combine("+", value, other)
        return value
