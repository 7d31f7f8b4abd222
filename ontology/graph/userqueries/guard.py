"""Check that a user's Cypher only reads: one statement that cannot write, load or reach the network.

The guard is the first of several protections: accepted statements run in a separate process, with read access
only, under a time limit and a row limit. But even with read access, an engine answers some statements that
read any file or reach the network; the guard refuses those.

Every rule has its own name, which the error contains, so that tests can show that each rule is needed.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

from labelgrove.ontology.errors import InputError, QueryRefusedError
from labelgrove.ontology.graph.cyphertokens import Token, tokenize

__all__ = ["MAX_CHARACTERS", "RULES", "Rule", "broken_rules", "check_statement"]

MAX_CHARACTERS = 20_000
"""Length in characters of the longest accepted statement; data should be passed as parameters."""

_FIRST = ("MATCH", "OPTIONAL", "UNWIND", "WITH", "RETURN")

_KEYWORDS = {
    "ALTER": "changes the schema",
    "ATTACH": "opens another database",
    "BEGIN": "controls transactions",
    "CALL": "runs procedures and subqueries",
    "CHECKPOINT": "writes to the database file",
    "COMMENT": "changes the schema",
    "COMMIT": "controls transactions",
    "COPY": "reads and writes files",
    "CREATE": "writes",
    "CYPHER": "changes how statements run",
    "DEALLOCATE": "administers servers",
    "DELETE": "writes",
    "DENY": "administers privileges",
    "DETACH": "writes",
    "DROP": "changes the schema",
    "DRYRUN": "administers servers",
    "ENABLE": "administers servers",
    "EXPLAIN": "changes how statements run",
    "EXPORT": "writes files",
    "FOREACH": "writes",
    "GRANT": "administers privileges",
    "IMPORT": "reads files",
    "INSERT": "writes",
    "INSTALL": "fetches code from the network",
    "LOAD": "reads files and addresses",
    "MACRO": "changes the schema",
    "MERGE": "writes",
    "NODETACH": "writes",
    "PROFILE": "changes how statements run",
    "PROJECT": "creates projected graphs",
    "REALLOCATE": "administers servers",
    "REMOVE": "writes",
    "RENAME": "changes the schema",
    "REVOKE": "administers privileges",
    "ROLLBACK": "controls transactions",
    "SET": "writes",
    "SHOW": "lists the contents of the server",
    "START": "administers databases",
    "STOP": "administers databases",
    "TERMINATE": "ends other people's transactions",
    "TRANSACTIONS": "controls transactions",
    "UNINSTALL": "changes the engine",
    "UPDATE": "changes the engine",
    "USE": "changes the database",
}
_NAMESPACES = {
    "apoc": "reads files, reaches addresses and runs other statements",
    "db": "accesses the internals of the server",
    "dbms": "accesses the internals of the server",
    "gds": "keeps graphs in the server's memory",
    "genai": "sends data to outside services",
}
_OPEN_NAMESPACES = {
    "date", "datetime", "duration", "localdatetime", "localtime", "point", "time", "vector",
}  # fmt: skip
_FUNCTIONS = {
    "currval": "reads the state of a sequence",
    "current_setting": "reads the engine's settings",
    "file": "shows paths of the server",
    "load_extension": "loads code",
    "nextval": "changes a sequence",
    "setseed": "changes the state of the engine",
}
_UNENDED = {
    "open_single": ("single-quote", "a string that begins with ' never ends"),
    "open_double": ("double-quote", 'a string that begins with " never ends'),
    "open_backtick": ("backtick", "a name that begins with ` never ends"),
    "open_comment": ("comment", "a comment that begins with /* never ends"),
}
_BRACKETS = {")": "(", "]": "[", "}": "{"}


class Statement:
    """A Cypher text, split into the tokens, words and function calls that the rules check."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def tokens(self) -> list[Token]:
        """The tokens, without a closing semicolon."""
        found = list(tokenize(self.text))
        return found[:-1] if found and found[-1].text == ";" else found

    @cached_property
    def words(self) -> list[str]:
        """The words that an engine may read as keywords, as written.

        Two kinds of words are left out: those in backticks, and those that can only be names where they stand
        (`_is_name`).
        """
        return [t.text for i, t in enumerate(self.tokens) if t.kind == "word" and not self._is_name(i)]

    @cached_property
    def calls(self) -> list[str]:
        """Names of the called functions in lower case, with their namespaces, such as ``date.truncate``."""
        found = []
        for i, token in enumerate(self.tokens):
            if token.text == "(" and i and self.tokens[i - 1].kind in ("word", "quoted"):
                parts = [self.tokens[i - 1].text]
                j = i - 2
                while j >= 1 and self.tokens[j].text == "." and self.tokens[j - 1].kind in ("word", "quoted"):
                    parts.append(self.tokens[j - 1].text)
                    j -= 2
                found.append(".".join(p.strip("`") for p in reversed(parts)).lower())
        return found

    def _is_name(self, i: int) -> bool:
        """Return whether token `i`, a word, can only name a property, a label, a type or a map key."""
        before, last, after = self._text(i - 2), self._text(i - 1), self._text(i + 1)
        if last == ".":
            owner = self.tokens[i - 2].kind if i >= 2 else ""
            return owner in ("word", "quoted", "parameter") or before in (")", "]", "}")
        return last == ":" or (last in ("{", ",") and after == ":")

    def _text(self, i: int) -> str:
        return self.tokens[i].text if 0 <= i < len(self.tokens) else ""


@dataclass(frozen=True)
class Rule:
    """Something that a statement must not do.

    Attributes
    ----------
    reason : str
        The part of the message that says what a statement does if it breaks the rule.
    breaks : callable
        Takes a `Statement`; returns whether it breaks the rule.
    """

    reason: str
    breaks: Callable[[Statement], bool]


def check_statement(cypher: str) -> None:
    """Refuse a statement that could do anything other than read the graph.

    Parameters
    ----------
    cypher : str
        One statement; a closing semicolon is accepted.

    Raises
    ------
    QueryRefusedError
        If the statement breaks rules; the attribute `rule` is the name of the first one.

    Examples
    --------
    >>> check_statement("MATCH (l:Label) WHERE l.name = 'DELETE' RETURN l.set AS `create`;")
    >>> check_statement("RETURN 1; RETURN 2")
    Traceback (most recent call last):
    labelgrove.ontology.errors.QueryRefusedError: refused by rule 'second-statement': it contains more than one statement
    """  # noqa: E501 - the last line of a traceback
    for name in broken_rules(cypher):
        raise QueryRefusedError(f"refused by rule {name!r}: {RULES[name].reason}", rule=name)


def broken_rules(cypher: str, rules: Mapping[str, Rule] | None = None) -> list[str]:
    """Return the names of the rules that `cypher` breaks, in the order of `rules` (by default `RULES`)."""
    if not isinstance(cypher, str):
        raise InputError(f"cypher: {cypher!r} is of type {type(cypher).__name__}; give a statement as text")
    statement = Statement(cypher)
    return [name for name, rule in (RULES if rules is None else rules).items() if rule.breaks(statement)]


# ---- the rules -----------------------------------------------------------------------------------------


def _has_control(statement: Statement) -> bool:
    return any(unicodedata.category(c) == "Cc" and c not in "\0\t\n\r" for c in statement.text)


def _has_invisible(statement: Statement) -> bool:
    return any(unicodedata.category(c) in ("Cf", "Zl", "Zp") for c in statement.text)


def _has_surrogate(statement: Statement) -> bool:
    return any("\ud800" <= c <= "\udfff" for c in statement.text)


def _has_escape(statement: Statement) -> bool:
    return "\\u" in statement.text or "\\U" in statement.text


def _is_unbalanced(statement: Statement) -> bool:
    waiting: list[str] = []
    for token in statement.tokens:
        if token.kind != "symbol":
            continue
        if token.text in "([{":
            waiting.append(token.text)
        elif token.text in _BRACKETS and (not waiting or waiting.pop() != _BRACKETS[token.text]):
            return True
    return bool(waiting)


def _starts_badly(statement: Statement) -> bool:
    first = statement.tokens[0] if statement.tokens else None
    # a forbidden keyword has its own rule, with a better message
    return first is not None and first.text.upper() not in (*_FIRST, *_KEYWORDS)


def _never_returns(statement: Statement) -> bool:
    return bool(statement.tokens) and "RETURN" not in (w.upper() for w in statement.words)


def _is_disguised(statement: Statement) -> bool:
    forms = (
        f
        for w in statement.words
        if not w.isascii()
        for f in (w.upper(), w.casefold().upper(), _compatible(w))
    )
    return any(f in _KEYWORDS for f in forms)


def _compatible(word: str) -> str:
    return unicodedata.normalize("NFKC", word).upper()


def _has_second(statement: Statement) -> bool:
    return any(t.text == ";" for t in statement.tokens)


def _unended(kind: str) -> Callable[[Statement], bool]:
    return lambda statement: any(t.kind == kind for t in statement.tokens)


def _keyword(word: str) -> Callable[[Statement], bool]:
    return lambda statement: any(w.upper() == word for w in statement.words)


def _in_namespace(space: str) -> Callable[[Statement], bool]:
    return lambda statement: any(c.partition(".")[0] == space for c in statement.calls if "." in c)


def _in_other_namespace(statement: Statement) -> bool:
    spaces = {c.partition(".")[0] for c in statement.calls if "." in c}
    return bool(spaces - _OPEN_NAMESPACES - _NAMESPACES.keys())


def _calls(function: str) -> Callable[[Statement], bool]:
    return lambda statement: function in statement.calls


def _rules() -> dict[str, Rule]:
    rules = {
        "empty": Rule("the statement is empty", lambda s: not s.tokens),
        "too-long": Rule(
            f"the statement is longer than {MAX_CHARACTERS:,} characters; pass data as parameters",
            lambda s: len(s.text) > MAX_CHARACTERS,
        ),
        "nul": Rule(
            "it contains a NUL character, where an engine stops reading; remove it", lambda s: "\0" in s.text
        ),
        "control-character": Rule("it contains a control character; remove it", _has_control),
        "invisible-character": Rule(
            "it contains an invisible character, or one that changes the direction of text; remove it",
            _has_invisible,
        ),
        "lone-surrogate": Rule("it contains half a surrogate pair, which has no UTF-8 form", _has_surrogate),
        "unicode-escape": Rule(
            r"it contains \u, which an engine replaces before it reads the words; "
            "write the character itself or pass it as a parameter",
            _has_escape,
        ),
    }
    rules |= {name: Rule(reason, _unended(kind)) for kind, (name, reason) in _UNENDED.items()}
    rules |= {
        "brackets": Rule("its brackets do not match", _is_unbalanced),
        "second-statement": Rule("it contains more than one statement", _has_second),
        "first-keyword": Rule(f"a query must begin with one of {', '.join(_FIRST)}", _starts_badly),
        "disguised-keyword": Rule(
            "it contains a word with characters outside ASCII, which an engine may read as a forbidden "
            "keyword; if the word is a name, put it in backticks",
            _is_disguised,
        ),
    }
    hint = "a query may only read. If the word is a name, put it in backticks"
    rules |= {
        f"keyword-{w.lower()}": Rule(f"{w} {does}; {hint}", _keyword(w)) for w, does in _KEYWORDS.items()
    }
    rules |= {f"functions-{n}": Rule(f"{n}.* {does}", _in_namespace(n)) for n, does in _NAMESPACES.items()}
    rules["functions-elsewhere"] = Rule(
        "it calls a function of a plug-in, which may do anything; use built-in functions", _in_other_namespace
    )
    rules |= {f"function-{n}": Rule(f"{n}() {does}", _calls(n)) for n, does in _FUNCTIONS.items()}
    # last, because adding a RETURN would not help a statement that breaks another rule
    rules["no-return"] = Rule("a query needs a RETURN", _never_returns)
    return rules


RULES: Mapping[str, Rule] = MappingProxyType(_rules())
"""Every rule by name, in the order in which they are checked."""
