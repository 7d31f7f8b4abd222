"""Read tables and lists in which each record describes one label: its key, name, parents and texts.

A record may come as a row of a table (text or Parquet), as an object in a JSON document, or as a line of JSON
Lines. `ontology.readers.formats.records.recordcolumns` lists the columns.
"""

from __future__ import annotations

from pathlib import Path

from labelgrove.ontology.readers.collect import Collector, Options
from labelgrove.ontology.readers.formats.records.keynames import refuse_names
from labelgrove.ontology.readers.formats.records.recordjson import read_json_lines, read_json_records
from labelgrove.ontology.readers.formats.records.recordtable import read_record_table
from labelgrove.ontology.readers.text.head import head
from labelgrove.ontology.readers.text.jsonhead import is_json, is_json_lines

__all__ = ["read_records"]


def read_records(path: Path, into: Collector, options: Options) -> None:
    """Read records into a collector; the form of the file is recognized from its start."""
    start = head(path)
    if is_json(start) and not is_json_lines(start):
        read_json_records(path, into, options)
        return
    refuse_names(options, into)
    if is_json_lines(start):
        read_json_lines(path, into, options)
    else:
        read_record_table(path, into, options)
