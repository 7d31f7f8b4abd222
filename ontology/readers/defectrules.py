"""Define every defect that a reader can find, in one table of codes, policies and remedies.

A policy says what happens for a defect:

``error``
    The read fails, after the whole file has been checked and every defect listed.
``warn``
    The content is kept as it is, and the defect is reported.
``fix``
    The content is repaired by the rule in the table, and the defect is reported.

The defect ``roots`` has its own policies (``virtual``, ``largest``, ``keep``). Every code offers only
policies that are possible: a graph cannot contain a self-loop, so ``self-loop`` does not offer ``warn``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from labelgrove.ontology.errors import InputError

__all__ = [
    "CAUSES_OF_ROOTS",
    "CHOSEN_FOR_ROOTS",
    "RULES",
    "SEVERITY",
    "Rule",
    "policies_of",
    "resolve_policies",
]

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
        Name of the defect, in reports and in ``--policy CODE=POLICY``.
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
    Rule("foreign-file", _ERROR, "the file is not in the format of its reader", "",
         "follow the advice given for this file, then ingest again"),
    Rule("unreadable", _ERROR, "the operating system failed to read the file to its end", "",
         "check the disk, then read again"),
    Rule("gzip-truncated", _ERROR, "the gzip stream ends in the middle", "", "download the file again"),
    Rule("gzip-damaged", _ERROR, "the gzip stream is damaged or followed by other bytes", "",
         "download the file again; `gzip -t FILE` must pass"),
    Rule("gzip-bomb", _ERROR, "the gzip stream unpacks to far more than a hierarchy needs", "",
         "if this is the right file, unpack it with gunzip and read the result"),
    Rule("line-too-long", _ERROR_FIX, "a line is longer than 1 MiB", _LINE_OUT,
         "check the line endings of the file"),
    Rule("encoding", _ERROR_FIX, "bytes that are not UTF-8", _LINE_OUT,
         "convert the file, for example `iconv -f WINDOWS-1252 -t UTF-8 FILE > labels.txt`"),
    Rule("nul", _ERROR_FIX, "a NUL character in a line or key",
         "the line, or the edges of the key, are left out",
         "convert the file to UTF-8 text; NULs often mean UTF-16"),
    Rule("carriage-return", _ERROR_FIX, "a carriage return inside a line", _LINE_OUT,
         r"convert old line endings with `tr '\r' '\n'`"),
    Rule("bom-inside", _ERROR_FIX, "a byte order mark after the start of the file", "the mark is removed",
         "remove the mark; files were probably joined"),
    Rule("bom", _FIX_ERROR, "the file starts with a byte order mark", "the mark is removed",
         "no action is needed; save the file as UTF-8 without a BOM to silence this"),
    Rule("crlf", _FIX_ERROR, "lines end in CR LF", "the carriage returns are removed",
         "no action is needed; save the file with LF line endings to silence this"),
    Rule("replacement-character", _WARN_ERROR,
         "U+FFFD in the text: characters were lost before this file was made", "",
         "get the file again in its original encoding"),
    Rule("no-records", _ERROR, "the file contains no label", "",
         "check that this is the right file and format"),
    # Cells and keys.
    Rule("columns", _ERROR_FIX, "a line with the wrong number of columns", _LINE_OUT,
         "give every line the columns of the format; quote or replace delimiters inside labels"),
    Rule("mixed-delimiters", _ERROR_FIX, "a line with a different delimiter from the rest of the file",
         _LINE_OUT, "use one delimiter, or name it with the option `delimiter`"),
    Rule("quote", _ERROR_FIX, "a quoted cell that is not closed on its line", _LINE_OUT,
         'close the quote; a quote inside a cell is written twice ("")'),
    Rule("empty-key", _ERROR_FIX, "an empty label", "the label and its edge are left out",
         "fill in the label"),
    Rule("key-too-long", _ERROR, "a label key longer than 4,000 bytes", "",
         "use shorter keys; check the line endings"),
    Rule("control-character", _ERROR_WARN, "a label key with a control character", "",
         "remove the character"),
    Rule("invisible-character", _ERROR_WARN,
         "a label key with an invisible character, or one that changes the direction of text", "",
         "remove the character: two such keys can look the same"),
    Rule("padded-cell", _FIX_ERROR, "blanks around a cell", "the blanks are removed", "no action is needed"),
    Rule("look-alike-keys", _WARN_ERROR,
         "keys that differ only in case, blanks, invisible characters or Unicode form", "",
         "if they mean the same label, write them the same way"),
    Rule("header", _ERROR, "a header that does not name each column exactly once", "",
         "name the columns parent and child, or parent and key; the names of other columns that are read are "
         "weight, rank, name, definition and relation"),
    Rule("repeated-header", _ERROR_FIX, "the header is repeated inside the file", _LINE_OUT,
         "remove the line; files were probably joined"),
    Rule("extra-column", _WARN_ERROR, "a column or member that is not read", "",
         "no action is needed; to have the column or member read, rename it to a name that docs/formats.md "
         "lists"),
    Rule("several-relations", _ERROR_WARN, "edges of several relations", "",
         "choose one with the option `relation`; the policy `warn` keeps the edges of all relations"),
    Rule("other-relation", _FIX_ERROR, "an edge whose relation differs from the option `relation`",
         "the edge is left out", "no action is needed"),
    Rule("parent-without-record", _WARN_ERROR, "a parent that no record describes", "",
         "check its spelling, and whether it is a name in place of a key; otherwise no action is needed"),
    Rule("obsolete-label", ("fix", "warn", "error"),
         "a label that the source calls obsolete or deprecated, and that has no place in the hierarchy",
         "it is not a label; its names and replacements are recorded", "no action is needed"),
    Rule("parent-by-name", ("fix", "warn", "error"), "parents that are given by name, in a table of keys",
         "the label that has the name becomes the parent",
         "write the keys of the parents in place of their names"),
    Rule("child-without-record", _WARN_ERROR, "a child that no record describes", "",
         "check its spelling; otherwise no action is needed"),
    Rule("accepted-without-record", _ERROR_FIX, "a synonym of a label that no record describes",
         "the synonym is left out", "restore the record of the label"),
    Rule("other-level", _FIX_ERROR, "records of a level that the option `levels` does not name",
         "the records are left out, and their children move up", "no action is needed"),
    Rule("deprecated-value", _ERROR_FIX, "a value of the column deprecated that means neither yes nor no",
         "the label is not deprecated", "write true or false"),
    Rule("cell-list", _ERROR_FIX, "a cell that begins like a list of texts and is not one",
         "the cell is one value", 'write lists like ["a", "b"], or the values as a|b'),
    Rule("parquet-damaged", _ERROR, "a Parquet file that cannot be read to its end", "",
         "write or download the file again"),
    Rule("parquet-bomb", _ERROR, "a Parquet file that unpacks to far more than a hierarchy needs", "",
         "if this is the right file, write it as CSV and read the result"),
    Rule("array", _ERROR, "an array that does not have one label path a row", "",
         "save an array of two axes and of texts or integers: numpy.save(FILE, paths.astype(str))"),
    Rule("missing-level", _ERROR_FIX, "a label path with an empty name between two names",
         "the empty level is left out", "fill in the level, or leave it out in the file"),
    Rule("path-without-id", _ERROR_FIX, "a label path without an id, although the others have one",
         "its path is its key", "give the path its id"),
    Rule("conflicting-ids", _ERROR_FIX, "a label path with several ids",
         "the first id in the order of UTF-8 bytes is the key", "keep one of them"),
    Rule("folder-name", _ERROR_FIX, "a name of a folder that is not a number and a label path", _LINE_OUT,
         "write NUMBER_KINGDOM_PHYLUM_CLASS_ORDER_FAMILY_GENUS_SPECIES"),
    Rule("obsolete-parent", ("error", "fix", "warn"),
         "a parent that is obsolete and has no place in the hierarchy itself",
         "the label that replaces it becomes the parent, if there is exactly one; otherwise the obsolete "
         "label stays", "name another parent; the policy `warn` keeps the obsolete label"),
    Rule("former-id-parent", _FIX_ERROR, "a parent that is given by a former id of a label",
         "the label that has this former id becomes the parent", "no action is needed"),
    Rule("ambiguous-former-id", _WARN_ERROR, "a former id that is also a label, or that several labels have",
         "", "no action is needed if nothing uses this id; it does not stand for any of these labels"),
    Rule("unknown-replacement", _WARN_ERROR, "a replacement of a label that no record describes", "",
         "no action is needed; check its spelling, or whether it belongs to another source"),
    Rule("replacement-loop", _WARN_ERROR, "labels that replace one another in a loop", "",
         "remove one of the replacements"),
    Rule("decimal-parent", ("error", "warn", "fix"), "a parent that is an id written as a decimal number",
         "the label with that id becomes the parent",
         "read the ids as text (pandas: dtype=str) and write the file again"),
    Rule("placeholder-parent", _ERROR_WARN,
         "a parent that no record describes and that looks like a missing value", "",
         "leave the parent of a root empty; if it is a label, give it a record"),
    Rule("conflicting-texts", _ERROR_FIX, "a label with several names or definitions",
         "the first in the order of UTF-8 bytes is used", "keep one of them"),
    Rule("weight-not-a-number", _ERROR_FIX, "a weight that is not a decimal number", "the edge is left out",
         "write weights like 0.5 or 1e-3; a third column of text needs a header line"),
    Rule("weight-not-finite", _ERROR_FIX, "a weight that is NaN or infinite", "the edge is left out",
         "write a finite number"),
    Rule("weight-not-positive", _ERROR_FIX, "a weight of zero or less", "the edge is left out",
         "write a positive number; merge labels at distance 0"),
    Rule("weight-out-of-range", _ERROR_FIX, "a weight outside 1e-75..1e75", "the edge is left out",
         "choose another unit: outside this range, squares lose precision"),
    Rule("rank", _ERROR_FIX, "a rank that is not a small integer", "rank 0 is used",
         "write an integer from 0 to 2,147,483,647"),
    # The hierarchy as a whole.
    Rule("self-loop", _ERROR_FIX, "a label that is its own parent", "the edge is left out",
         "remove the edge"),
    Rule("duplicate-edge", _FIX_ERROR, "an edge that is given more than once",
         "it counts once, with its smallest rank", "no action is needed"),
    Rule("conflicting-weights", _ERROR_FIX, "one edge with several weights", "the smallest weight is used",
         "keep one weight"),
    Rule("cycle", _ERROR_FIX, "labels that are their own ancestors",
         "the edges that close a loop are left out; to find them, each group of connected loops is walked "
         "depth first, from parents to children, children by key, beginning at the smallest key with a "
         "parent outside the group, or else at the smallest key; an edge to a label on the current path "
         "closes a loop", "remove one edge of each loop"),
    Rule("direction-swapped", _WARN_ERROR,
         "more roots than leaves, and more labels with several parents than labels with several children", "",
         "parents and children are probably swapped: read the file with --direction child-parent "
         "(or parent-child, if the header or the option says child-parent)"),
    Rule("roots", ("error", "virtual", "largest", "keep"),
         "several roots, or parts without a path between them; a distance needs a path", "",
         "choose --policy roots=virtual (a new root above them), roots=largest (only the part with the most "
         "labels) or roots=keep (no change)"),
    Rule("root-taken", _ERROR, "the key of the virtual root is already a label", "",
         "choose another key with the option `root`"),
    Rule("direction-header", _WARN_ERROR, "the option `direction` contradicts the header", "",
         "drop the option, or correct the header"),
    Rule("transitive-edge", ("warn", "error", "fix"),
         "an edge to an ancestor that a longer path also reaches", "the edge is left out",
         "no action is needed if these shortcuts are intended; the policy `fix` leaves them out"),
    Rule("transitive-unchecked", _WARN, "the search for transitive edges stopped at its limit", "",
         "no action is needed"),
    Rule("duplicate-name", _WARN_ERROR, "a name that several labels share", "",
         "no action is needed; refer to these labels by key"),
    Rule("missing-name", _WARN_ERROR, "a label without a name", "",
         "no action is needed: its key serves as the name"),
    Rule("duplicate-id", _ERROR_FIX, "an id that two records have",
         "they become one label, with the parents and children of both",
         "give each record its own id"),
    Rule("repeated-label", ("error", "warn", "fix"), "a label under several parents in a format for trees",
         "its later occurrences get the key `parent/label`",
         "if these are one label with several parents, choose the policy `warn`; if they are different "
         "labels, choose `fix`"),
    # RDF; imports also in OBO.
    Rule("rdf-statement", _ERROR_FIX, "a statement that breaks the grammar of RDF",
         "the statement is left out", "correct the statement; if a dot is missing, it is missing above it"),
    Rule("rdf-document", _ERROR, "RDF that cannot be read to its end", "",
         "correct the text at this line, or export the file again from its source"),
    Rule("rdf-nesting", _ERROR, "RDF that is nested too deep", "",
         "write the file again without quoted triples and without nodes inside nodes"),
    Rule("rdf-expansion", _ERROR, "RDF that expands to far more than a hierarchy needs", "",
         "write the file again with short namespaces and entities"),
    Rule("xml-external", _ERROR, "XML that refers to another file", "",
         "remove the reference; no other file is read"),
    Rule("xml-entity", _ERROR, "an XML entity that is nested, a parameter, or very long; in ICD, any entity",
         "", "write its text in place of the entity; only in RDF may an entity shorten a namespace"),
    Rule("xml-length", _ERROR, "a text, tag or comment of XML that is far longer than any a hierarchy needs",
         "", "check for a quote or an end tag that is missing at this line or above it"),
    Rule("remote-context", _ERROR, "JSON-LD whose context is in another document", "",
         "copy the context into the file; nothing is loaded from the network"),
    Rule("relative-iri", _WARN_ERROR, "an IRI without a scheme, which depends on where the file is", "",
         "no action is needed if nothing refers to it; otherwise state a base, for example "
         "`@base <http://example.org/> .`"),
    Rule("iri-character", _WARN_ERROR, "an IRI with a blank or another character that IRIs do not have", "",
         "write the character as %20 or the like; it is kept as it is"),
    Rule("blank-label", _FIX_ERROR, "a concept without an IRI", "it is left out",
         "give the concept an IRI"),
    Rule("anonymous-class", _FIX_ERROR, "a superclass without an IRI, such as a restriction",
         "it is not a parent",
         "no action is needed; to make parents of the classes in `someValuesFrom`, name the property with "
         "the option `relation`"),
    Rule("literal-parent", _ERROR_FIX, "a parent that is a text instead of an IRI", "the edge is left out",
         "write the IRI of the parent"),
    Rule("text-expected", _WARN_ERROR, "a name or definition that is an IRI instead of a text", "",
         "no action is needed; it is left out"),
    Rule("several-vocabularies", _WARN_ERROR, "a file with SKOS concepts and with classes", "",
         "no action is needed if the right ones are read; otherwise choose with the option `vocabulary`"),
    Rule("several-schemes", _WARN_ERROR, "concepts of several schemes", "",
         "no action is needed; to read one of them, name it with the option `scheme`"),
    Rule("other-scheme", _FIX_ERROR, "a concept outside the scheme that the option `scheme` names",
         "it is left out", "no action is needed"),
    Rule("top-concept-below", _WARN_ERROR, "a top concept of a scheme that has a broader concept", "",
         "no action is needed: the broader concept is its parent"),
    Rule("equivalent-class", ("fix", "warn", "error"), "two classes that are called equivalent",
         "they become one label", "no action is needed; the policy `warn` keeps both"),
    Rule("not-imported", _WARN_ERROR, "an import of another file, which is not read", "",
         "no action is needed unless parents without a record are reported; then merge both files, for "
         "example with `robot merge`, and read the result"),
    Rule("not-a-boolean", _WARN_ERROR, "a value of owl:deprecated other than true and false", "",
         "no action is needed: the label is not deprecated"),
    Rule("shared-key", _ERROR_FIX, "a local name, CURIE or notation that several labels have",
         "their IRIs are their keys", "choose `key` iri, or give each label its own"),
    Rule("no-short-key", _WARN_ERROR, "a label without a local name, CURIE or notation", "",
         "no action is needed: its IRI is its key"),
    Rule("other-language", _WARN_ERROR, "a label without a name in the language that was asked for", "",
         "no action is needed: its name in another language is used"),
    # WordNet database files.
    Rule("no-hierarchy", _ERROR, "adjectives and adverbs have no hypernyms", "",
         "read data.noun or data.verb"),
    Rule("synset-offset", _ERROR_FIX, "a synset offset that is not eight digits", _LINE_OUT,
         "restore the line"),
    Rule("offset-moved", _WARN_ERROR, "an offset that is not the position of its line in the file", "",
         "no action is needed if the file was edited on purpose"),
    Rule("lexicographer-file", _WARN_ERROR, "a lexicographer file number outside 00 to 44", "",
         "restore the line"),
    Rule("part-of-speech", _ERROR_FIX, "a synset whose part of speech differs from that of the file",
         _LINE_OUT, "restore the line"),
    Rule("word-count", _ERROR_FIX, "a hexadecimal word count that does not match the words", _LINE_OUT,
         "restore the line"),
    Rule("lexical-id", _WARN_ERROR, "a lexical id that is not one or two hexadecimal digits", "",
         "restore the line"),
    Rule("pointer-count", _ERROR_FIX, "a pointer count that does not match the pointers",
         "the synset is kept with its complete pointers", "restore the line"),
    Rule("pointer-symbol", _WARN_ERROR, "a pointer symbol that WordNet does not have", "",
         "restore the line"),
    Rule("pointer-offset", _ERROR_FIX, "a hypernym pointer whose offset is not eight digits",
         "the edge is left out", "restore the line"),
    Rule("pointer-scope", _WARN_ERROR, "a hypernym between words rather than synsets", "",
         "no action is needed: the synsets are linked"),
    Rule("cross-part-of-speech", _ERROR_FIX, "a hypernym of another part of speech", "the edge is left out",
         "restore the line"),
    Rule("dangling-parent", _ERROR_FIX, "a hypernym that is not in the file", "the edge is left out",
         "restore the missing synset"),
    Rule("one-sided-pointer", _WARN_ERROR,
         "a hypernym that does not list its hyponym, or the reverse", "",
         "restore the missing pointer; edges are read from the pointers to hypernyms"),
    Rule("frame-count", _WARN_ERROR, "verb frames that do not match their count", "", "restore the line"),
    Rule("word-uses", _WARN_ERROR, "a line of cntlist.rev that is not `sense number count`", "",
         "no action is needed; the line is left out"),
    Rule("missing-gloss", _WARN_ERROR, "a synset without a gloss", "", "restore the line"),
    # Category hierarchies with class lists.
    Rule("not-an-integer", _ERROR_FIX, "an id that is not a 64-bit integer",
         "the line or class is left out",
         "write ids in ASCII digits, up to 9,223,372,036,854,775,807; for other keys, choose the format "
         "`edges`"),
    Rule("leading-zeros", _ERROR_FIX, "an id with leading zeros", "the zeros are removed",
         "write the same id always in the same way"),
    Rule("labels-header", _WARN_ERROR, "a labels file without a header line", "", "no action is needed"),
    Rule("no-label", _ERROR_FIX, "a line of the labels file without a class", _LINE_OUT,
         "give the line its classes"),
    Rule("label-list", _ERROR_FIX, "classes that are not separated by single commas",
         "the separators are skipped", "write classes as `545, 32`"),
    Rule("feature", _WARN_ERROR, "a feature that is not `number:value`", "",
         "no action is needed: only the classes are read"),
    Rule("hidden-label", _ERROR_FIX, "class 0, which test files contain in place of the true classes",
         "the class is left out", "use the labels file of the training data"),
    Rule("repeated-class", _FIX_ERROR, "a class that is twice in a line", "it counts once",
         "no action is needed"),
    Rule("unknown-class", _ERROR_FIX, "a class that is not in the hierarchy", "the class is left out",
         "check that both files are from the same release"),
    Rule("class-not-leaf", _WARN_ERROR, "a class that has labels below it", "",
         "no action is needed; if such classes may be answers, use labels=`all`, not `leaves`"),
    # Taxonomy dumps.
    Rule("record-end", _ERROR_FIX, "a record that does not end in a tab and a bar",
         "it is read to the end of its line",
         "download the dump again; a file that was edited may have lost its tabs"),
    Rule("missing-file", _WARN_ERROR, "a file that belongs to the source is not there", "",
         "put it beside the source"),
    Rule("unknown-taxon", _FIX_ERROR, "a name or former id of a taxon that nodes.dmp does not have",
         _LINE_OUT, "check that the files are from the same release; otherwise no action is needed"),
    Rule("name-class", _WARN_ERROR, "a name of an unknown class", "",
         "no action is needed: it is read as a related name"),
    Rule("former-id", _ERROR_FIX, "a merged or deleted id that is a taxon, or has several successors",
         "a taxon stays a label, a deleted id stays deleted, and of several successors the first in the "
         "order of UTF-8 bytes is used", "check that the files are from the same release"),
    Rule("former-parent", _FIX_ERROR, "a parent that is a former id of a label",
         "the label becomes the parent", "no action is needed"),
    Rule("unknown-level", _ERROR, "a level of the option `levels` that no label has", "",
         "check its spelling; levels are compared exactly as they are written"),
    # Superclass lists and outlines.
    Rule("no-classes", _WARN_ERROR, "a superclass without classes", "", "no action is needed: it is a leaf"),
    Rule("repeated-superclass", _WARN_ERROR, "a superclass with several lines", "",
         "no action is needed: the lines are combined"),
    Rule("indent-outside", _ERROR_FIX, "a line that is indented less than the first line",
         "it becomes another outermost label", "indent the first line as little as this line"),
    Rule("indent-jump", _ERROR_FIX, "a line more than one level deeper than the line above",
         "it is read as one level deeper", "add the missing level"),
    Rule("indent-between", _ERROR_FIX, "an indentation that matches no level above it",
         "the line is read as if it had the indentation of the next outer level",
         "align the line with its siblings"),
    Rule("indent-mixed", _ERROR_FIX, "tabs, blanks and dashes mixed in indentation", _LINE_OUT,
         "indent with tabs, blanks or dashes only, not a mixture"),
    # OBO.
    Rule("obo-line", _ERROR_FIX, "a line that is neither a clause `tag: value`, nor a stanza, nor a comment",
         _LINE_OUT, "write `tag: value`, or begin the line with ! to make it a comment"),
    Rule("obo-stanza", _ERROR_FIX,
         "a stanza other than [Term], [Typedef] and [Instance], or an id before the first stanza",
         "the stanza is left out", "write [Term], in this case, above each term"),
    Rule("obo-version", _WARN_ERROR, "a version of OBO that is not between 1.0 and 1.4", "",
         "no action is needed if the labels look right"),
    Rule("missing-id", _ERROR_FIX, "a term without an id", "the term is left out", "give the term an id"),
    Rule("repeated-tag", _ERROR_FIX, "a second id or namespace in a term",
         "the first in the order of UTF-8 bytes is used",
         "check whether a line [Term] is missing above it; otherwise keep one of them"),
    Rule("unknown-tag", _WARN_ERROR, "a tag that OBO does not have", "",
         "check its spelling; its clauses are not read"),
    Rule("continued-line", _ERROR_FIX, "a value that ends in a backslash, with no line to go on in",
         "the backslash is removed", "remove the backslash, or restore the lines after it"),
    Rule("obo-id", _ERROR_FIX, "an id followed by text", "the text is left out",
         "write ! before a comment, and a backslash before a blank inside an id"),
    Rule("obo-text", _ERROR_FIX, "a definition or synonym that is not one text in quotes", _LINE_OUT,
         r'write "text", with \" for a quote inside it'),
    Rule("obo-references", _WARN_ERROR, "cross-references that are missing, empty or not closed", "",
         "no action is needed; write [] after a text, and a description of a cross-reference in quotes"),
    Rule("obo-modifiers", _WARN_ERROR, "a brace that does not begin modifiers at the end of the line", "",
         r'no action is needed: it is part of the text; write \{ for a brace, {name="value"} for modifiers'),
    Rule("obo-comment", _WARN_ERROR, "an unescaped ! inside a name", "",
         r"no action is needed: it is part of the name; write \! for it, and a blank before a comment"),
    Rule("obo-relationship", _ERROR_FIX, "a relationship without a target", _LINE_OUT,
         "write `relationship: RELATION ID`"),
    Rule("obo-flag", _ERROR_FIX, "a value of is_obsolete other than true and false",
         "the term is not obsolete", "write true or false"),
    Rule("synonym-scope", _WARN_ERROR, "a synonym whose scope is not EXACT, NARROW, BROAD or RELATED", "",
         "no action is needed: it is a related synonym"),
    Rule("other-namespace", _FIX_ERROR, "a parent in another namespace than the option `namespace` names",
         "the edge is left out", "no action is needed"),
    # ICD-10 in XML.
    Rule("xml-syntax", _ERROR, "XML that is not well formed; the text after it was not checked", "",
         "correct the text at this line, or download the file again"),
    Rule("xml-nesting", _ERROR, "more than 256 levels of XML elements", "",
         "check for end tags that are missing above it"),
    Rule("xml-size", _ERROR, "more XML elements than a classification has", "",
         "check that this is the right file; split it if it is"),
    Rule("missing-code", _ERROR_FIX, "a chapter, section or disease without a code",
         "it is left out, and its children move up", "give it its code"),
    Rule("several-codes", _ERROR_FIX, "a chapter, section or disease with several codes",
         "the first in the order of UTF-8 bytes is its key",
         "check whether a start tag is missing above it; otherwise keep one of them"),
    Rule("misplaced-label", _ERROR_FIX, "a chapter, section or disease in an element that cannot hold it",
         "its parent is the closest one around it", "check for end tags that are missing above it"),
    Rule("unknown-element", _WARN_ERROR, "an XML element that the format does not have at this place", "",
         "check its spelling; it is left out, but chapters, sections and diseases in it are read"),
    Rule("stray-text", _WARN_ERROR, "text between XML elements, where the format has none", "",
         "put it into an element; it is left out"),
    Rule("empty-note", _WARN_ERROR, "a note without text", "", "no action is needed; it is left out"),
    Rule("missing-section", _WARN_ERROR, "a section of the index that its chapter does not have", "",
         "check whether the file is complete, or download it again"),
    Rule("seventh-character", _FIX_ERROR, "a seventh character that makes further codes",
         "these codes are not labels", "no action is needed"),
    # JSON trees.
    Rule("json-syntax", _ERROR, "text that is not JSON; the text after it was not checked", "",
         "correct the text at this line"),
    Rule("json-trailing", _ERROR, "text after the JSON document", "",
         "keep one document; wrap several trees in [ ]"),
    Rule("json-nesting", _ERROR, "more than 10,000 levels of brackets", "",
         "use an edge list for a hierarchy this deep"),
    Rule("json-constant", _ERROR, "NaN or Infinity, which JSON does not have", "", "write null or a number"),
    Rule("json-duplicate-member", _ERROR_FIX, "an object that has a member twice", "the first one is used",
         "keep one of them"),
    Rule("json-surrogate", _ERROR_FIX, "half of a surrogate pair in a string", "it becomes U+FFFD",
         r"write both halves of the \u pair"),
    Rule("json-node", _ERROR_FIX, "a node that is not an object with a name, id, key or children",
         "it is left out", 'write {"name": ...}'),
    Rule("json-record", _ERROR_FIX, "a record that is not an object", "it is left out",
         'write {"key": ..., "name": ..., "parent": ...}'),
    Rule("json-member", _ERROR_FIX, "a member of a record that is not a text, a number or a list of them",
         "the member is left out", "write a text, or an array of texts"),
    Rule("json-children", _ERROR_FIX, "children that are not an array", "the node is read without children",
         'write "children": [...]'),
    Rule("json-name", _ERROR_FIX, "a name that is not a string", "the node is read without a name",
         "put the name in quotes"),
    Rule("json-id", _ERROR_FIX, "an id that is neither a string nor an integer",
         "the path of the node is the key", "use a string or an integer"),
    Rule("repeated-sibling", _ERROR_FIX, "siblings with the same name, and so with the same path",
         "the later ones get `#2`, `#3` ... after their path", 'give them an "id"'),
    Rule("annotation", _ERROR_FIX,
         "a name, note or mark of a label that is not written as an export writes it",
         "it is left out, or a name loses its count of uses",
         "export it again, or write it as docs/formats.md says"),
    Rule("digest-differs", _WARN_ERROR, "an export whose digest differs from the digest that it states", "",
         "no action is needed if the file was edited; otherwise export it again"),
)  # fmt: skip

RULES: Mapping[str, Rule] = MappingProxyType({rule.code: rule for rule in _TABLE})
"""Every rule by its code, in the order in which reports list them."""

CAUSES_OF_ROOTS = ("parent-without-record", "direction-swapped")
"""Defects that are most likely the cause of ``roots`` if they are found together with it."""

CHOSEN_FOR_ROOTS: Mapping[str, str] = MappingProxyType(
    {
        "virtual": "repaired: a new root was added above them",
        "largest": "repaired: only the part with the most labels is kept",
        "keep": "kept as they are",
    }
)
"""What a report says about the action taken for ``roots``, for each of its own policies."""


def _reaches(policy: str, rule: Rule) -> bool:
    """Return whether ``all=POLICY`` applies to a rule; ``all=fix`` skips rules whose default is ``warn``."""
    return policy in rule.policies and not (policy == "fix" and SEVERITY[rule.default] == "warn")


def policies_of(entries: Iterable[str]) -> dict[str, str]:
    """Return the policies that texts of the form ``DEFECT=POLICY`` choose; the last one for a defect counts.

    >>> policies_of(["cycle=fix", "roots=keep", "roots=virtual"])
    {'cycle': 'fix', 'roots': 'virtual'}
    """
    chosen = {}
    for entry in entries:
        code, equals, policy = entry.partition("=")
        if not equals:
            raise InputError(f"policy: {entry!r:.80} given; write DEFECT=POLICY, such as roots=virtual")
        chosen[code] = policy
    return chosen


def resolve_policies(
    chosen: Mapping[str, str] | None, defaults: Mapping[str, str] = MappingProxyType({})
) -> dict[str, str]:
    """Return the policy that applies to each code.

    Parameters
    ----------
    chosen : mapping of code to policy, optional
        The caller's policies. A policy given for the code ``"all"`` applies to every code that offers this
        policy, unless `chosen` also names that code. ``all=fix`` leaves out codes whose default is ``warn``.
    defaults : mapping of code to policy, optional
        The policies of the format; those of the caller take precedence.

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
            raise InputError(
                f"policies: all={everywhere!r} is not a policy for all defects; choose error, warn or fix"
            )
        policies |= {code: everywhere for code, rule in RULES.items() if _reaches(everywhere, rule)}
    for code, policy in chosen.items():
        if code not in RULES:
            raise InputError(f"policies: {code!r} is not a defect code; docs/formats.md lists them")
        if policy not in RULES[code].policies:
            offered = ", ".join(RULES[code].policies)
            raise InputError(f"policies: {code}={policy!r} is not available; choose from: {offered}")
        policies[code] = policy
    return policies
