"""Reads printed mathematics back and evaluates it: written against the page, not the printer.

Numbers are fractions. `exp`, `ln`, square roots, E and derivatives are stand-ins (`STAND_IN`): any
fixed functions do, because the test compares what was meant with what was printed, not calculus.
An entry's value is a hash of its name and indices.
"""

from __future__ import annotations

import hashlib
import re
from fractions import Fraction
from xml.etree import ElementTree

TENSORS = {"Q": 2, "W_K": 2, "s": 1, "X'": 2, "μ": 1}
SCALARS = {"x", "β", "d_k", "n", "i", "j", "T", "H"}
FUNCTIONS = {"κ": 1}
PREDICATES = {"keep": 2}
DEFINED = {"mean_of": (1, 1, 1)}  # dimensions, arrays of one index, indices
INTEGERS = {"n": 3, "d_k": 2, "T": 4, "H": 2, "i": 2, "j": 3}

STAND_IN = {
    "exp": lambda v: v**2 + 3 * v + Fraction(11, 7),
    "ln": lambda v: 2 * v**2 - v + 5,
    "sqrt": lambda v: v**3 + v + 13,
    "E": lambda v: 3 * v**2 + v + Fraction(1, 3),
}


def derivative(by, value):
    """Stand in for ∂value/∂by."""
    return 7 * by + value**2 - value * by + 2


def entry(name, indices):
    """Return the value of an entry: a small fraction, fixed by name and indices."""
    digest = hashlib.sha256(repr((name, tuple(indices))).encode()).digest()
    return Fraction(digest[0] % 17 - 8, digest[1] % 5 + 1)


def function(name, arguments):
    """Return the value of an index function: 1, 2 or 3."""
    return hashlib.sha256(repr((name, arguments)).encode()).digest()[0] % 3 + 1


def predicate(name, arguments):
    """Return the truth of a predicate."""
    return hashlib.sha256(repr((name, arguments)).encode()).digest()[0] % 2 == 0


def defined(name, dimensions, arrays, indices):
    """Stand in for a defined symbol: depends on every argument, arrays at indices 1 to 4."""
    seen = [[array(k) for k in range(1, 5)] for array in arrays]
    return entry(name, (dimensions, repr(seen), indices))


# -- to tokens ------------------------------------------------------------------------------

_LATEX = re.compile(
    r"(?P<skip>\\,|\s+)|\\(?:operatorname|mathrm)\{(?P<word>[A-Za-z\\_]+)\}"
    r"|\\(?P<command>[A-Za-z]+)|(?P<number>\d+)|(?P<letter>[A-Za-z])|(?P<mark>[-+=<>^_{}()\[\],;:|'/])"
)
_GREEK = {"beta": "β", "mu": "μ", "kappa": "κ"}


def latex_tokens(text):
    """Cut LaTeX into tokens."""
    tokens, at = [], 0
    while at < len(text):
        match = _LATEX.match(text, at)
        assert match, f"cannot read {text[at:]!r}"
        at = match.end()
        command = match["command"]
        if match["skip"]:
            continue
        if match["word"]:
            tokens.append(match["word"].replace("\\_", "_"))
        elif command in ("Bigl", "Bigr"):
            # the delimiter follows; only | needs to know its side
            if text[at] == "|":
                tokens.append("|(" if command == "Bigl" else ")|")
                at += 1
        elif command == "big":
            continue  # the slash follows
        elif command == "cfrac":
            tokens.append("\\frac")  # larger, not another thing
        elif command in ("lvert", "rvert"):
            tokens.append("|(" if command == "lvert" else ")|")
        elif command:
            tokens.append(_GREEK.get(command, "\\" + command))
        else:
            tokens.append(match[0])
    return tokens


def mathml_to_latex(text):
    """Turn the MathML subset into LaTeX, element by element."""

    def go(node):
        parts = [go(child) for child in node]
        match node.tag:
            case "math" | "mrow":
                return " ".join(parts)
            case "mn":
                return node.text
            case "mspace":
                return " "
            case "mi":
                return {
                    "𝔼": r"\operatorname{E}",
                    "ln": r"\ln",
                    "exp": r"\exp",
                    "∂": r"\partial",
                }.get(
                    node.text,
                    node.text if len(node.text) == 1 else rf"\operatorname{{{node.text}}}",
                )
            case "mo" if node.text == "|":
                return {"prefix": r"\lvert ", "postfix": r"\rvert "}[node.get("form")]
            case "mo":
                return {
                    "−": "-", "·": r"\cdot", "\u2062": r"\,", "≤": r"\le", "≠": r"\ne",
                    "∧": r"\land", "∨": r"\lor", "¬": r"\lnot", "∈": r"\in", "×": r"\times",
                    "⟨": r"\langle", "⟩": r"\rangle", "′": "'",
                }.get(node.text, node.text)  # fmt: skip
            case "msub":
                return f"{parts[0]}_{{{parts[1]}}}"
            case "msup":
                return parts[0] + "'" if parts[1] == "'" else f"{parts[0]}^{{{parts[1]}}}"
            case "mfrac":
                return rf"\frac{{{parts[0]}}}{{{parts[1]}}}"
            case "msqrt":
                return rf"\sqrt{{{' '.join(parts)}}}"
            case "munder":
                return rf"\sum_{{{parts[1]}}}"
            case "munderover":
                return rf"\sum_{{{parts[1]}}}^{{{parts[2]}}}"
        raise AssertionError(node.tag)

    source = go(ElementTree.fromstring(f"<math>{text}</math>"))
    for letter, name in (("β", r"\beta"), ("μ", r"\mu"), ("κ", r"\kappa")):
        source = source.replace(letter, name)
    return source


# -- to values ------------------------------------------------------------------------------


class Reader:
    """Recursive descent over LaTeX tokens; values are computed on the way."""

    def __init__(self, tokens, scope=None):
        self.tokens, self.at = tokens, 0
        self.scope = scope or {}

    def peek(self, offset=0):
        place = self.at + offset
        return self.tokens[place] if place < len(self.tokens) else None

    def take(self, expected=None):
        token = self.peek()
        assert expected in (None, token), f"{expected} expected at {self.tokens[self.at :]}"
        self.at += 1
        return token

    def group(self):
        """Return the tokens between matching braces."""
        self.take("{")
        start, depth = self.at, 1
        while depth:
            depth += {"{": 1, "}": -1}.get(self.take(), 0)
        return self.tokens[start : self.at - 1]

    def inside(self, tokens):
        return Reader(tokens, self.scope)

    def whole(self, tokens):
        reader = self.inside(tokens)
        value = reader.expression()
        assert reader.peek() is None, f"left over: {reader.tokens[reader.at :]}"
        return value

    # expression := ["-"] product (("+" | "-") product)*
    def expression(self):
        total = Fraction(0)
        sign = 1
        if self.peek() == "-":
            self.take()
            sign = -1
        total += sign * self.product()
        while self.peek() in ("+", "-"):
            sign = 1 if self.take() == "+" else -1
            total += sign * self.product()
        return total

    def starts_factor(self):
        token = self.peek()
        if token is None:
            return False
        return token not in set("+-=<,;:)]}") | {
            ")|", "\\le", "\\ne", "\\land", "\\lor", "\\rangle", "\\in", "\\times"
        }  # fmt: skip

    def product(self):
        value = self.factor()
        while self.starts_factor():
            if self.peek() == "/":
                self.take()
                divisor = self.factor()
                value = value / divisor if divisor else Fraction(0)
                continue
            if self.peek() == "\\cdot":
                self.take()
            value *= self.factor()
        return value

    def factor(self):
        value = self.base()
        if self.peek() == "^":
            self.take()
            value **= int(self.whole(self.group()))
        return value

    def base(self):
        token = self.peek()
        if token == "(":
            return self.parenthesis()
        if token == "[":
            self.take()
            value = Fraction(int(self.condition()))
            self.take("]")
            return value
        if token == "|(":
            self.take()
            value = abs(self.expression())
            self.take(")|")
            return value
        if token == "\\frac":
            return self.fraction()
        if token == "\\sqrt":
            self.take()
            return STAND_IN["sqrt"](self.whole(self.group()))
        if token in ("\\exp", "\\ln"):
            name = self.take()[1:]
            self.take("(")
            value = STAND_IN[name](self.expression())
            self.take(")")
            return value
        if token == "e":
            self.take()
            self.take("^")
            return STAND_IN["exp"](self.whole(self.group()))
        if token == "E":
            self.take()
            self.take("[")
            value = STAND_IN["E"](self.expression())
            self.take("]")
            return value
        if token == "\\sum":
            return self.total()
        if token.isdigit():
            return Fraction(int(self.take()))
        return self.symbol()

    def parenthesis(self):
        """Read ``( expression )``, or a name with a subscript in parentheses: ``(W_K)_{ja}``."""
        start = self.at
        self.take("(")
        name = self.name()
        if name in TENSORS and self.peek() == ")" and self.peek(1) == "_":
            self.take(")")
            return self.entry(name)
        self.at = start
        self.take("(")
        value = self.expression()
        self.take(")")
        return value

    def fraction(self):
        self.take("\\frac")
        above, below = self.group(), self.group()
        if above[:1] == ["\\partial"]:
            assert below[0] == "\\partial"
            by = self.whole(below[1:])
            if above[1:]:
                return derivative(by, self.whole(above[1:]))
            self.take("(")
            value = derivative(by, self.expression())
            self.take(")")
            return value
        numerator, denominator = self.whole(above), self.whole(below)
        return numerator / denominator if denominator else Fraction(0)

    def total(self):
        self.take("\\sum")
        self.take("_")
        below = self.inside(self.group())
        index = below.take()
        if below.peek() == "_":  # j_1
            below.take()
            index += "_" + "".join(below.group())
        if below.peek() == "=":
            below.take()
            low = below.expression()
            self.take("^")
            high = self.whole(self.group())
            values = [Fraction(k) for k in range(int(low), int(high) + 1)]
        else:
            below.take("\\in")
            values = below.axis()
        start = self.at
        total = Fraction(0)
        end = None
        for value in values or [None]:
            reader = Reader(self.tokens, {**self.scope, index: value})
            reader.at = start
            result = reader.product() if value is not None else reader.skipped_product()
            total += result
            end = reader.at
        self.at = end
        return total

    def skipped_product(self):
        """Read past the body of an empty sum, with some index value."""
        for name, value in self.scope.items():
            if value is None:
                self.scope[name] = Fraction(1)
        self.product()
        return 0

    def axis(self):
        """Read ``[H] × [d]`` as the pairs it holds."""
        ranges = []
        while True:
            self.take("[")
            low, high = Fraction(1), self.expression()
            if self.peek() == ":":
                self.take()
                low, high = high, self.expression()
            self.take("]")
            ranges.append([Fraction(k) for k in range(int(low), int(high) + 1)])
            if self.peek() != "\\times":
                break
            self.take()
        left, right = ranges
        return [(a, b) for a in left for b in right]

    # conditions
    def condition(self):
        value = self.conjunction()
        while self.peek() == "\\lor":
            self.take()
            other = self.conjunction()
            value = value or other
        return value

    def conjunction(self):
        value = self.comparison()
        while self.peek() == "\\land":
            self.take()
            other = self.comparison()
            value = value and other
        return value

    def comparison(self):
        if self.peek() == "\\lnot":
            self.take()
            return not self.comparison()
        if self.peek() in PREDICATES:
            name = self.take()
            self.take("(")
            arguments = self.indices(")")
            return predicate(name, arguments)
        if self.peek() == "(":  # a parenthesised condition, or an index in parentheses
            start = self.at
            self.take()
            try:
                value = self.condition()
                self.take(")")
                return value
            except AssertionError:
                self.at = start
        left = self.expression()
        sign = self.take()
        assert sign in ("\\le", "<", "=", "\\ne"), f"no comparison: {sign}"
        right = self.expression()
        return {
            "\\le": left <= right,
            "<": left < right,
            "=": left == right,
            "\\ne": left != right,
        }[sign]

    # names
    def name(self):
        """Read the longest known name here, or None (position then unchanged)."""
        start = self.at
        token = self.take()
        if token is None:
            self.at = start
            return None
        name = token
        if self.peek() == "'":
            name += self.take()
        if self.peek() == "_":
            here = self.at
            self.take()
            longer = name + "_" + "".join(self.group() if self.peek() == "{" else [self.take()])
            if longer in TENSORS or longer in SCALARS or longer in self.scope:
                return longer
            self.at = here
        if name in TENSORS or name in SCALARS or name in self.scope or name in FUNCTIONS:
            return name
        if name in DEFINED:
            return name
        self.at = start
        return None

    def symbol(self):
        name = self.name()
        assert name is not None, f"unknown name at {self.tokens[self.at :]}"
        if name in self.scope:
            return self.scope[name]
        if name in DEFINED:
            return self.defined(name)
        if name in TENSORS:
            return self.entry(name)
        if name in FUNCTIONS:
            self.take("(")
            return Fraction(function(name, self.indices(")")))
        return Fraction(INTEGERS[name]) if name in INTEGERS else entry(name, ())

    def entry(self, name):
        self.take("_")
        return entry(name, self.inside(self.group()).indices(None, TENSORS[name]))

    def indices(self, closing, count=0):
        """Read indices: separated by commas, or `count` single letters side by side."""
        found = []
        together = count > 1 and "," not in self.tokens
        while self.peek() != closing:
            found.append(self.symbol() if together else self.index_value())
            if self.peek() == ",":
                self.take()
        if closing:
            self.take(closing)
        return tuple(found)

    def index_value(self):
        """Read one index: an integer, a pair, or a bound index that stands for a pair."""
        if self.peek() == "\\langle":
            self.take()
            left = self.expression()
            self.take(",")
            right = self.expression()
            self.take("\\rangle")
            return (left, right)
        if self.peek() in self.scope and isinstance(self.scope[self.peek()], tuple):
            return self.scope[self.take()]
        return self.expression()

    def defined(self, name):
        dimensions, arrays, _ = DEFINED[name]
        self.take("(")
        sizes = []
        for _ in range(dimensions):
            sizes.append(self.expression())
            self.take("," if len(sizes) < dimensions else ";")
        found = []
        for _ in range(arrays):
            found.append(self.array())
            self.take(")" if len(found) == arrays else ",")
        self.take("_")
        return defined(name, tuple(sizes), found, self.inside(self.group()).indices(None, 1))

    def array(self):
        """Read an array of one index: ``s``, ``Q_{i, :}``, ``(W_K)_{:, j}`` or ``(term)_{j}``."""
        start = self.at
        opened = self.peek() == "("
        if opened:
            self.take()
        name = self.name()
        if opened and name and self.peek() == ")" and self.peek(1) == "_":
            self.take()
        elif opened:
            name = None
        if name in TENSORS:
            if self.peek() != "_":
                return lambda k: entry(name, (Fraction(k),))
            here = self.at
            self.take()
            inner = self.group()
            if ":" in inner:
                reader, values = self.inside(inner), []
                while reader.peek() is not None:
                    if reader.peek() == ":":
                        reader.take()
                        values.append(None)
                    else:
                        values.append(reader.index_value())
                    if reader.peek() == ",":
                        reader.take()
                return lambda k: entry(name, [Fraction(k) if v is None else v for v in values])
            self.at = here
        self.at = start
        self.take("(")
        begin, depth = self.at, 1
        while depth:
            depth += {"(": 1, ")": -1}.get(self.take(), 0)
        body = self.tokens[begin : self.at - 1]
        self.take("_")
        index = "".join(self.group()).replace("{", "").replace("}", "")
        scope = dict(self.scope)
        return lambda k: Reader(body, {**scope, index: Fraction(k)}).whole(body)


def read_latex(text):
    """Return the value of printed LaTeX."""
    tokens = latex_tokens(text)
    return Reader(tokens).whole(tokens)


def read_mathml(text):
    """Return the value of printed MathML."""
    return read_latex(mathml_to_latex(text))


def text_to_latex(text):
    """Turn the one-line text notation into LaTeX, sign by sign (fractions by their precedence)."""
    return _TextReader(text).expression_source()


class _TextReader:
    """Turn text tokens into LaTeX source by its own precedence: ``/`` and ``·`` left to right."""

    _TOKEN = re.compile(
        r"\s*(Σ_\{|\.\.|[⁰¹²³⁴⁵⁶⁷⁸⁹]+|\d+|[A-Za-zβμκ][A-Za-z0-9_]*'*|[-+=<≤≠∧∨¬∈×·/()\[\],;:|⟨⟩√∂}])"
    )

    def __init__(self, text):
        self.tokens, at = [], 0
        while at < len(text):
            match = self._TOKEN.match(text, at)
            assert match, f"cannot read {text[at:]!r}"
            glued = match.start(1) == at
            self.tokens.append((match[1], glued))
            at = match.end()
        self.at = 0

    def peek(self):
        return self.tokens[self.at][0] if self.at < len(self.tokens) else None

    def glued(self):
        return self.at < len(self.tokens) and self.tokens[self.at][1]

    def take(self, expected=None):
        token = self.peek()
        assert expected in (None, token), f"{expected} expected at {self.tokens[self.at :]}"
        self.at += 1
        return token

    def expression_source(self):
        out = self.take() if self.peek() == "-" else ""
        out += self.product_source()
        while self.peek() in ("+", "-"):
            out += f" {self.take()} " + self.product_source()
        return out

    def product_source(self):
        out = self.factor_source()
        while self.peek() in ("·", "/"):
            if self.take() == "·":
                out += r" \cdot " + self.factor_source()
            else:
                out = rf"\frac{{{out}}}{{{self.factor_source()}}}"
        return out

    def factor_source(self):
        out = self.base_source()
        if self.peek() and self.peek()[0] in "⁰¹²³⁴⁵⁶⁷⁸⁹":
            digits = self.take().translate(str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789"))
            out += f"^{{{digits}}}"
        return out

    def base_source(self):
        token = self.take()
        if token == "(":
            inner = self.expression_source()
            self.take(")")
            return f"({inner})"
        if token == "[":
            out = "["
            while self.peek() != "]":
                out += self.condition_token()
            self.take("]")
            return out + "]"
        if token == "|":
            inner = self.expression_source()
            self.take("|")
            return rf"\lvert {inner} \rvert"
        if token == "√":
            self.take("(")
            inner = self.expression_source()
            self.take(")")
            return rf"\sqrt{{{inner}}}"
        if token == "Σ_{":
            return self.total_source()
        if token == "∂":
            return self.derivative_source()
        if token == "E":
            self.take("[")
            inner = self.expression_source()
            self.take("]")
            return rf"\operatorname{{E}}[{inner}]"
        if token in ("exp", "ln"):
            self.take("(")
            inner = self.expression_source()
            self.take(")")
            return rf"\{token}({inner})"
        if token.isdigit():
            return token
        return self.name_source(token)

    def total_source(self):
        index = self.take()
        if self.peek() == "=":
            self.take()
            low = self.expression_source()
            self.take("..")
            high = self.expression_source()
            self.take("}")
            head = rf"\sum_{{{_latex_name(index)}={low}}}^{{{high}}}"
        else:
            self.take("∈")
            inner = ""
            while self.peek() != "}":
                token = self.take()
                inner += {"×": r"\times "}.get(token) or (
                    _latex_name(token) if token[0].isalpha() else token
                )
            self.take("}")
            head = rf"\sum_{{{_latex_name(index)} \in {inner}}}"
        return f"{head} {self.product_source()}"

    def derivative_source(self):
        if self.peek() == "/":
            self.take()
            self.take("∂")
            by = self.base_source()
            return rf"\frac{{\partial}}{{\partial {by}}}{self.base_source()}"
        value = self.base_source()
        self.take("/")
        self.take("∂")
        return rf"\frac{{\partial {value}}}{{\partial {self.base_source()}}}"

    def condition_token(self):
        token = self.take()
        signs = {"≤": r" \le ", "≠": r" \ne ", "∧": r" \land ", "∨": r" \lor ", "¬": r"\lnot ",
                 "·": r" \cdot ", "⟨": r"\langle ", "⟩": r"\rangle "}  # fmt: skip
        if token in signs:
            return signs[token]
        if token[0] in "⁰¹²³⁴⁵⁶⁷⁸⁹":
            return f"^{{{token.translate(str.maketrans('⁰¹²³⁴⁵⁶⁷⁸⁹', '0123456789'))}}}"
        return self.name_source(token) if token[0].isalpha() else f" {token} "

    def name_source(self, token):
        if token in DEFINED or token in FUNCTIONS or token in PREDICATES:
            head = _latex_name(token) + "("
            self.take("(")
            depth = 1
            while depth:
                part = self.take()
                depth += {"(": 1, ")": -1}.get(part, 0)
                if depth and part[0] in "⁰¹²³⁴⁵⁶⁷⁸⁹":
                    digits = part.translate(str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789"))
                    head += f"^{{{digits}}}"
                elif depth and part[0].isalpha():
                    self.at -= 1
                    head += self.base_source()
                elif depth and part == "[" and head.endswith(")"):
                    head += "_{" + self.bracketed() + "}"
                elif depth and (part.isdigit() or part in "([Σ_{√∂|" or part == "Σ_{"):
                    self.at -= 1
                    if part == "(":
                        depth -= 1
                    head += self.base_source()
                elif depth:
                    head += {"·": r"\cdot ", "⟨": r"\langle ", "⟩": r"\rangle "}.get(part, part)
            head += ")"
        else:
            head = _latex_name(token)
        if self.peek() == "[" and self.glued():
            self.take()
            if "_" in head and token not in DEFINED:
                head = f"({head})"
            head += "_{" + self.bracketed() + "}"
        return head

    def bracketed(self):
        out = ""
        while self.peek() != "]":
            if self.peek() in (":", ",", "⟨", "⟩"):
                out += {"⟨": r"\langle ", "⟩": r"\rangle "}.get(self.peek(), self.peek() + " ")
                self.take()
            else:
                out += self.expression_source()
        self.take("]")
        return out


def _latex_name(token):
    stripped = token.rstrip("'")
    base, *rest = stripped.split("_")
    greek = {"β": r"\beta", "μ": r"\mu", "κ": r"\kappa"}
    if token in DEFINED or token in PREDICATES:
        return rf"\operatorname{{{token.replace('_', chr(92) + '_')}}}"
    text = greek.get(base, base) + "'" * (len(token) - len(stripped))
    return text + ("_{" + ",".join(rest) + "}" if rest else "")


def read_text(text):
    """Return the value of the one-line text notation."""
    reader = _TextReader(text)
    source = reader.expression_source()
    assert reader.peek() is None, f"left over: {reader.tokens[reader.at :]}"
    return read_latex(source)
