"""Define every defect that a reader can find, in one table of codes, policies and remedies.

A policy says what happens for a defect:

``error``
    The read fails, after the whole file has been checked and every defect listed.
``warn``
    The content is kept as it is, and the defect is reported.
``fix``
    The content is repaired by the rule in the table, and the defect is reported.

``roots`` has its own policies (``virtual``, ``largest``, ``keep``). A code offers only policies that make
sense for it: a graph cannot hold a self-loop, so ``self-loop`` has no ``warn``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from labelgrove.ontology.errors import InputError

__all__ = ["CAUSES_OF_ROOTS", "CHOSEN_FOR_ROOTS", "RULES", "SEVERITY", "Rule", "resolve_policies"]

SEVERITY: Mapping[str, str] = MappingProxyType(
    {"error": "error", "warn": "warn", "keep": "warn", "fix": "info", "virtual": "info", "largest": "info"}
)
"""Severity of a defect under each policy, the most severe first."""


@dataclass(frozen=True)
class Rule:
    """One kind of defect.

    Attributes
    ----------
    code : str
        Name in reports and in ``--policy CODE=POLICY``.
    policies : tuple of str
        Available policies, the default first.
    says : str
        Description of the defect.
    fix : str
        The effect of ``fix``; empty if there is no repair.
    remedy : str
        How to correct the file.
    """

    code: str
    policies: tuple[str, ...]
    says: str
    fix: str
    remedy: str

    @property
    def default(self) -> str:
        """The policy that applies unless the caller names another."""
        return self.policies[0]


_ERROR = ("error",)
_ERROR_FIX = ("error", "fix")
_FIX_ERROR = ("fix", "error")
_WARN = ("warn",)
_WARN_ERROR = ("warn", "error")
_ERROR_WARN = ("error", "warn")
_LINE_OUT = "the line is left out"

_TABLE = (
    # The file as bytes and text.
    Rule("empty-file", _ERROR, "the file has no content", "", "check the download; its size is 0"),
    Rule("foreign-file", _ERROR, "the file is of another kind than its reader takes", "",
         "follow the line above, then ingest again"),
    Rule("unreadable", _ERROR, "the operating system failed to read on", "",
         "check the disk, then read again"),
    Rule("gzip-truncated", _ERROR, "the gzip stream ends in the middle", "", "download the file again"),
    Rule("gzip-damaged", _ERROR, "the gzip stream is damaged or followed by other bytes", "",
         "download the file again; `gzip -t FILE` must pass"),
    Rule("gzip-bomb", _ERROR, "the gzip stream unpacks to far more than a hierarchy needs", "",
         "if the file is meant, unpack it with gunzip and read the result"),
    Rule("line-too-long", _ERROR_FIX, "a line is longer than 1 MiB", _LINE_OUT,
         "check the line ends of the file"),
    Rule("encoding", _ERROR_FIX, "bytes that are not UTF-8", _LINE_OUT,
         "convert the file, for example `iconv -f LATIN1 -t UTF-8`"),
    Rule("nul", _ERROR_FIX, "a NUL character in a line or key",
         "the line, or the edges of the key, are left out",
         "convert the file to UTF-8 text; NULs often mean UTF-16"),
    Rule("carriage-return", _ERROR_FIX, "a carriage return inside a line", _LINE_OUT,
         r"convert old line ends with `tr '\r' '\n'`"),
    Rule("bom-inside", _ERROR_FIX, "a byte order mark after the start of the file", "the mark is removed",
         "files were joined: remove the mark"),
    Rule("bom", _FIX_ERROR, "the file starts with a byte order mark", "the mark is removed",
         "nothing needs doing; save as UTF-8 without BOM to silence it"),
    Rule("crlf", _FIX_ERROR, "lines end in CR LF", "the carriage returns are removed",
         "nothing needs doing; save with LF line ends to silence it"),
    Rule("replacement-character", _WARN_ERROR,
         "U+FFFD in the text: characters were lost before this file was made", "",
         "fetch the file again in its first encoding"),
    Rule("no-records", _ERROR, "the file holds no label", "",
         "check that the right file and format were named"),
    # Cells and keys.
    Rule("columns", _ERROR_FIX, "a line with a wrong number of columns", _LINE_OUT,
         "give every line the columns of the format; quote or replace delimiters inside labels"),
    Rule("mixed-delimiters", _ERROR_FIX, "a line split by another delimiter than the rest of the file",
         _LINE_OUT, "use one delimiter, or name it with the option `delimiter`"),
    Rule("quote", _ERROR_FIX, "a quoted cell that does not close in its line", _LINE_OUT,
         'close the quote; a quote inside a cell is written twice ("")'),
    Rule("empty-key", _ERROR_FIX, "an empty label", "the label is left out with its edge", "name the label"),
    Rule("key-too-long", _ERROR, "a label key longer than 4,000 bytes", "",
         "use shorter keys; check the line ends"),
    Rule("control-character", _ERROR_WARN, "a label key with a control character", "",
         "remove the character"),
    Rule("invisible-character", _ERROR_WARN,
         "a label key with a character that shows nothing or turns the direction of text", "",
         "remove the character: two such keys can look the same"),
    Rule("padded-cell", _FIX_ERROR, "blanks around a cell", "the blanks are removed", "nothing needs doing"),
    Rule("look-alike-keys", _WARN_ERROR,
         "keys that differ only in case, blanks, invisible characters or Unicode form", "",
         "if they mean one label, write them alike"),
    Rule("header", _ERROR, "a header that does not name its columns once each", "",
         "name the columns parent and child, or parent and key, and those of weight, rank, name, definition "
         "and relation, if present"),
    Rule("repeated-header", _ERROR_FIX, "the header stands again inside the file", _LINE_OUT,
         "files were joined: remove the line"),
    Rule("extra-column", _WARN_ERROR, "a column or member that is not read", "",
         "nothing needs doing; if it is meant, give it a name that docs/formats.md lists"),
    Rule("several-relations", _ERROR_WARN, "edges of several relations", "",
         "name the one to take with the option `relation`; `warn` takes them all"),
    Rule("other-relation", _FIX_ERROR, "an edge of another relation than the option `relation` names",
         "the edge is left out", "nothing needs doing"),
    Rule("parent-without-record", _WARN_ERROR, "a parent that no record describes", "",
         "check its spelling, or whether it is a name where a key belongs; else nothing needs doing"),
    Rule("decimal-parent", ("error", "warn", "fix"), "a parent that is the decimal of an id",
         "the parent is the label with that id",
         "parents are decimals of the ids: read them as text (pandas: dtype=str) and write the file again"),
    Rule("placeholder-parent", _ERROR_WARN,
         "a parent that no record describes, written as a missing value is", "",
         "leave the parent of a root empty; if a label is really called that, give it a record"),
    Rule("conflicting-texts", _ERROR_FIX, "a label with several names or definitions",
         "the first in the order of UTF-8 bytes counts", "decide on one"),
    Rule("weight-not-a-number", _ERROR_FIX, "a weight that is not a decimal number", "the edge is left out",
         "write weights like 0.5 or 1e-3; a third column of text needs a header line"),
    Rule("weight-not-finite", _ERROR_FIX, "a weight that is NaN or infinite", "the edge is left out",
         "an edge length is finite"),
    Rule("weight-not-positive", _ERROR_FIX, "a weight of zero or less", "the edge is left out",
         "an edge length is positive; merge labels at distance 0"),
    Rule("weight-out-of-range", _ERROR_FIX, "a weight outside 1e-75..1e75", "the edge is left out",
         "choose another unit: beyond it squares lose their bits"),
    Rule("rank", _ERROR_FIX, "a rank that is not a small integer", "rank 0 is taken",
         "a rank is an integer from 0 to 2,147,483,647"),
    # The hierarchy as a whole.
    Rule("self-loop", _ERROR_FIX, "a label that is its own parent", "the edge is left out",
         "remove the edge"),
    Rule("duplicate-edge", _FIX_ERROR, "an edge that is given more than once",
         "it counts once, with its smallest rank", "nothing needs doing"),
    Rule("conflicting-weights", _ERROR_FIX, "one edge with several weights", "the smallest weight counts",
         "decide on one weight"),
    Rule("cycle", _ERROR_FIX, "labels that are above themselves",
         "each knot of loops is walked from parents to children, depth first, children by key, from its "
         "smallest key among those with a parent outside it (else its smallest key); edges back to a "
         "label on the walk are left out", "remove one edge of each loop"),
    Rule("direction-swapped", _WARN_ERROR,
         "more roots than leaves and more shared children than shared parents", "",
         "parents and children are probably swapped: read it with --direction child-parent (parent-child, "
         "where the header or the option says child-parent)"),
    Rule("roots", ("error", "virtual", "largest", "keep"),
         "several roots or parts without a path between them, where a distance needs one path at least", "",
         "choose --policy roots=virtual (a new root above them), roots=largest (the part with most labels "
         "alone) or roots=keep (as it is)"),
    Rule("root-taken", _ERROR, "the name for the virtual root is already a label", "",
         "name another with the option `root`"),
    Rule("direction-header", _WARN_ERROR, "the option `direction` contradicts the header", "",
         "drop the option, or correct the header"),
    Rule("transitive-edge", ("warn", "error", "fix"), "an edge to an ancestor that a longer way reaches too",
         "the edge is left out",
         "nothing needs doing: such edges are shortcuts; `fix` leaves them out when they are not meant"),
    Rule("transitive-unchecked", _WARN, "the search for transitive edges was stopped at its limit", "",
         "nothing needs doing"),
    Rule("duplicate-name", _WARN_ERROR, "a name that several labels carry", "",
         "nothing needs doing; refer to these labels by key"),
    Rule("missing-name", _WARN_ERROR, "a label without a name", "",
         "nothing needs doing: its key serves as the name"),
    Rule("duplicate-id", _ERROR_FIX, "an id that two records carry",
         "they are one label, with the parents and children of both",
         "give each its own id"),
    Rule("repeated-label", ("error", "warn", "fix"), "a label under several parents in a format for trees",
         "the later ones get keys of their own, `parent/label`",
         "`warn` reads them as one label with several parents, `fix` as several labels"),
    # WordNet database files.
    Rule("no-hierarchy", _ERROR, "adjectives and adverbs have no hypernyms", "",
         "read data.noun or data.verb"),
    Rule("synset-offset", _ERROR_FIX, "a synset offset that is not eight digits", _LINE_OUT,
         "restore the line"),
    Rule("offset-moved", _WARN_ERROR, "an offset that is not where its line stands", "",
         "the file was edited; nothing needs doing if that was meant"),
    Rule("lexicographer-file", _WARN_ERROR, "a lexicographer file number outside 00 to 44", "",
         "restore the line"),
    Rule("part-of-speech", _ERROR_FIX, "a synset of another part of speech than its file", _LINE_OUT,
         "restore the line"),
    Rule("word-count", _ERROR_FIX, "a hexadecimal word count that the words do not match", _LINE_OUT,
         "restore the line"),
    Rule("lexical-id", _WARN_ERROR, "a lexical id that is not one or two hexadecimal digits", "",
         "restore the line"),
    Rule("pointer-count", _ERROR_FIX, "a pointer count that the pointers do not match",
         "the synset is kept with the pointers that are whole", "restore the line"),
    Rule("pointer-symbol", _WARN_ERROR, "a pointer symbol that WordNet does not have", "",
         "restore the line"),
    Rule("pointer-offset", _ERROR_FIX, "a hypernym pointer whose offset is not eight digits",
         "the edge is left out", "restore the line"),
    Rule("pointer-scope", _WARN_ERROR, "a hypernym between words rather than synsets", "",
         "nothing needs doing: the synsets are linked"),
    Rule("cross-part-of-speech", _ERROR_FIX, "a hypernym of another part of speech", "the edge is left out",
         "restore the line"),
    Rule("dangling-parent", _ERROR_FIX, "a hypernym that is not in the file", "the edge is left out",
         "restore the missing synset"),
    Rule("one-sided-pointer", _WARN_ERROR,
         "a hypernym that does not list its hyponym, or the other way round", "",
         "restore the missing pointer; hypernyms decide"),
    Rule("frame-count", _WARN_ERROR, "verb frames that do not match their count", "", "restore the line"),
    Rule("missing-gloss", _WARN_ERROR, "a synset without a gloss", "", "restore the line"),
    # Category hierarchies with class lists.
    Rule("not-an-integer", _ERROR_FIX, "an id that is not a whole number of 64 bits",
         "the line or class is left out",
         "ids are ASCII digits up to 9,223,372,036,854,775,807; name the format `edges` for other keys"),
    Rule("leading-zeros", _ERROR_FIX, "an id with leading zeros", "the zeros are removed",
         "write each id in one form"),
    Rule("labels-header", _WARN_ERROR, "a labels file without a header line", "", "nothing needs doing"),
    Rule("no-label", _ERROR_FIX, "a line of the labels file without a class", _LINE_OUT,
         "give the line its classes"),
    Rule("label-list", _ERROR_FIX, "classes that are not separated by one comma each",
         "the separators are skipped", "write classes as `545, 32`"),
    Rule("feature", _WARN_ERROR, "a feature that is not `number:value`", "",
         "nothing needs doing for the classes"),
    Rule("hidden-label", _ERROR_FIX, "class 0, which test files carry in place of the truth",
         "the class is left out", "give the training file"),
    Rule("repeated-class", _FIX_ERROR, "a class twice in one line", "it counts once", "nothing needs doing"),
    Rule("unknown-class", _ERROR_FIX, "a class that the hierarchy does not hold", "the class is left out",
         "check that both files are of one release"),
    Rule("class-not-leaf", _WARN_ERROR, "a class that has labels below it", "",
         "nothing needs doing; use labels=`all` rather than `leaves`"),
    # Superclass lists and outlines.
    Rule("no-classes", _WARN_ERROR, "a superclass without classes", "", "nothing needs doing: it is a leaf"),
    Rule("repeated-superclass", _WARN_ERROR, "a superclass with several lines", "",
         "nothing needs doing: they add up"),
    Rule("indent-outside", _ERROR_FIX, "a line further out than the first one",
         "it is taken as one more outermost label", "align the first line with it"),
    Rule("indent-jump", _ERROR_FIX, "a line more than one level deeper than the line above",
         "it is taken as one level deeper", "add the missing level"),
    Rule("indent-between", _ERROR_FIX, "an indentation that no line above opened",
         "the next outer level is taken", "align it with its siblings"),
    Rule("indent-mixed", _ERROR_FIX, "tabs, blanks and dashes mixed in indentation", _LINE_OUT,
         "indent with one of them"),
    # JSON trees.
    Rule("json-syntax", _ERROR, "text that is not JSON; nothing after it was looked at", "",
         "correct it at this line"),
    Rule("json-trailing", _ERROR, "text after the JSON document", "",
         "keep one document; wrap several trees in [ ]"),
    Rule("json-nesting", _ERROR, "more than 10,000 levels of brackets", "",
         "use an edge list for so deep a hierarchy"),
    Rule("json-constant", _ERROR, "NaN or Infinity, which JSON does not have", "", "write null or a number"),
    Rule("json-duplicate-member", _ERROR_FIX, "an object with one member twice", "the first counts",
         "keep one of them"),
    Rule("json-surrogate", _ERROR_FIX, "half of a surrogate pair in a string", "it becomes U+FFFD",
         r"write both halves of the \u pair"),
    Rule("json-node", _ERROR_FIX, "a node that is not an object with a name, id, key or children",
         "it is left out", 'write {"name": ...}'),
    Rule("json-children", _ERROR_FIX, "children that are not an array", "the node is read without children",
         'write "children": [...]'),
    Rule("json-name", _ERROR_FIX, "a name that is not a string", "the node is read without a name",
         "put the name in quotes"),
    Rule("json-id", _ERROR_FIX, "an id that is neither a string nor an integer", "the path is taken",
         "use a string or an integer"),
    Rule("repeated-sibling", _ERROR_FIX, "siblings of one name, which share their path",
         "the later ones get `#2`, `#3` ... behind their path", 'give them an "id"'),
    Rule("digest-differs", _WARN_ERROR, "an export that does not have the digest it states", "",
         "nothing needs doing if it was edited; else export it again"),
)  # fmt: skip

RULES: Mapping[str, Rule] = MappingProxyType({rule.code: rule for rule in _TABLE})
"""Every rule by its code, in the order in which reports list them."""

CAUSES_OF_ROOTS = ("parent-without-record", "direction-swapped")
"""Defects that are most likely the cause of ``roots``, if both are found."""

CHOSEN_FOR_ROOTS: Mapping[str, str] = MappingProxyType(
    {
        "virtual": "repaired: a new root stands above them",
        "largest": "repaired: the part with most labels is kept alone",
        "keep": "kept as it is",
    }
)
"""The action taken for ``roots`` under each of its own policies."""


def _reaches(policy: str, rule: Rule) -> bool:
    """Return whether ``all`` sets a policy for a rule: ``fix`` skips defects that are only warned about."""
    return policy in rule.policies and not (policy == "fix" and SEVERITY[rule.default] == "warn")


def resolve_policies(
    chosen: Mapping[str, str] | None, defaults: Mapping[str, str] = MappingProxyType({})
) -> dict[str, str]:
    """Return the policy that applies to each code.

    Parameters
    ----------
    chosen : mapping of code to policy, optional
        The caller's policies. The code ``"all"`` sets every code that offers the policy, except codes that
        are named themselves. ``all=fix`` does not change defects that are only warned about.
    defaults : mapping of code to policy, optional
        The format's policies; the caller's take precedence.

    Raises
    ------
    InputError
        For an unknown code or a policy that the code does not offer; the message lists the available ones.

    Examples
    --------
    >>> resolve_policies({"cycle": "fix"})["cycle"], resolve_policies(None)["roots"]
    ('fix', 'error')
    """
    policies = {code: rule.default for code, rule in RULES.items()} | dict(defaults)
    chosen = dict(chosen or {})
    everywhere = chosen.pop("all", None)
    if everywhere is not None:
        if everywhere not in ("error", "warn", "fix"):
            raise InputError(f"policies: all={everywhere!r} is not on offer; choose error, warn or fix")
        policies |= {code: everywhere for code, rule in RULES.items() if _reaches(everywhere, rule)}
    for code, policy in chosen.items():
        if code not in RULES:
            raise InputError(f"policies: {code!r} is not a defect code; docs/formats.md lists them")
        if policy not in RULES[code].policies:
            offered = ", ".join(RULES[code].policies)
            raise InputError(f"policies: {code}={policy!r} is not on offer; choose from: {offered}")
        policies[code] = policy
    return policies
