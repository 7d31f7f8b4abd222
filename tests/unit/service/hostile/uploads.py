"""Uploads that are no files, no hierarchies, or far more than they seem."""

from __future__ import annotations

import gzip
import io
import zipfile

from tests.unit.service.hostile.hostile_case import Case, post, upload

__all__ = ["CASES"]

_OF = "/v1/ontologies/{}/ingest"
_FORM = "multipart/form-data; boundary=x"
_PART = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\nid,parent\r\n--x--\r\n'


def _form(
    rule: str, status: int, kind: str, says: str, body: bytes, content_type: str = _FORM, name: str = "a"
) -> Case:
    return post(rule, status, kind, says, _OF.format(name), body, Content_Type=content_type)


def _zipped(content: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.csv", content)
    return packed.getvalue()


_RDF = b'<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">%s</rdf:RDF>'
_XML = b'<?xml version="1.0"?><!DOCTYPE a [%s]>' + _RDF
_GROWING = _XML % (b'<!ENTITY b "bbbb"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;">', b"&c;")
_OUTER = _XML % (b'<!ENTITY b SYSTEM "file:///etc/passwd">', b"&b;")

CASES = [
    _form(
        "a form without a file",
        400,
        "input",
        "file",
        b'--x\r\nContent-Disposition: form-data; name="format"\r\n\r\nedges\r\n--x--\r\n',
    ),
    _form("a form without an end", 400, "input", "file: Field required; see /openapi.json", _PART[:-9]),
    _form("a form without a boundary", 400, "input", "boundary", _PART, "multipart/form-data"),
    _form(
        "a form of another boundary",
        400,
        "input",
        "Invalid multipart data.; see /reference",
        _PART,
        "multipart/form-data; boundary=y",
    ),
    _form("a form that is JSON", 400, "input", "file", b"{}", "application/json"),
    _form(
        "a part without a name",
        400,
        "input",
        'The Content-Disposition header field "name" must be',
        b"--x\r\nContent-Disposition: form-data\r\n\r\na\r\n--x--\r\n",
    ),
    _form(
        "a part without a disposition",
        400,
        "input",
        'The Content-Disposition header field "name" must be',
        b"--x\r\n\r\na\r\n--x--\r\n",
    ),
    _form(
        "2,000 parts",
        400,
        "input",
        "Too many fields. Maximum number of fields is 1000.; see",
        b'--x\r\nContent-Disposition: form-data; name="policy"\r\n\r\na\r\n' * 2_000 + b"--x--\r\n",
    ),
    _form(
        "a field of two megabytes",
        400,
        "input",
        "Part exceeded maximum size of 1024KB.; see /reference",
        b'--x\r\nContent-Disposition: form-data; name="root"\r\n\r\n' + b"a" * 2_000_000 + b"\r\n--x--\r\n",
    ),
    _form(
        "a name of an ontology that is a path",
        400,
        "input",
        "ontology name '..\\\\a': use 1 to 64 characters of a-z, 0-9,",
        _PART,
        name="..%5Ca",
    ),
    _form(
        "a name of an ontology in capitals",
        400,
        "input",
        "ontology name 'Garden': use 1 to 64 characters of a-z, 0-9,",
        _PART,
        name="Garden",
    ),
    _form(
        "a name of an ontology with a blank",
        400,
        "input",
        "ontology name 'a b': use 1 to 64 characters of a-z, 0-9,",
        _PART,
        name="a%20b",
    ),
    upload("an unknown format", 400, "input", "format", b"id,parent\n", format="exe"),
    upload("an unknown direction", 400, "input", "direction", b"id,parent\n", direction="up"),
    upload("a policy without a defect", 400, "input", "policy", b"id,parent\n", policy="drop"),
    upload(
        "a policy for an unknown defect",
        400,
        "input",
        "policies: 'magic' is not a defect code; docs/formats.md",
        b"id,parent\n",
        policy="magic=drop",
    ),
    upload("a delimiter of two characters", 400, "input", "delimiter", b"id,parent\n", delimiter="ab"),
    upload(
        "an option of another format",
        400,
        "input",
        "relation",
        b"a b\nb c\n",
        name="a.txt",
        relation="part_of",
    ),
    upload(
        "half a gzip file",
        422,
        "defects",
        "gzip-truncated",
        gzip.compress(b"id,parent\n" * 1_000)[:-20],
        name="a.csv.gz",
    ),
    upload(
        "a gzip file of zeros beyond the most",
        422,
        "defects",
        "foreign-file",
        gzip.compress(b"\0" * (1 << 28), 9),
        name="a.csv.gz",
    ),
    upload(
        "a gzip file within a gzip file",
        422,
        "defects",
        "foreign-file",
        gzip.compress(gzip.compress(b"\0" * (1 << 24))),
        name="a.csv.gz",
    ),
    upload("a zip archive", 422, "defects", "foreign-file", _zipped(b"id,parent\n"), name="a.zip"),
    upload("a program", 422, "defects", "foreign-file", b"\x7fELF" + bytes(1_000), name="a.csv"),
    upload("an empty file", 422, "defects", "empty-file", b""),
    upload("entities that grow", 422, "defects", "xml-entity", _GROWING, name="a.rdf"),
    upload("an entity that is a file here", 422, "defects", "xml-external", _OUTER, name="a.rdf"),
    upload(
        "JSON of 100,000 brackets in a file", 422, "defects", "json-nesting", b"[" * 100_000, name="a.json"
    ),
]
