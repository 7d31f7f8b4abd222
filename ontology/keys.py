"""Store label keys and names as bytes, without a Python string for each.

A table of texts (`Texts`) consists of one UTF-8 blob, which contains its entries one after another, and of
the offset of each entry. A table opens from a memory map in microseconds, even with 325,056 keys; each entry
is decoded when it is used. `Keys` adds the permutation that sorts the entries by their bytes, and finds a key
by binary search.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from itertools import pairwise
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.errors import InputError, UnknownLabelError, counted, first_few
from labelgrove.ontology.spelling import close_to
from labelgrove.ontology.store.safetensors_file import stored_array

__all__ = ["Keys", "Texts", "Words", "is_name_of", "stored_texts"]

_MOST_COMPARED = 5_000
"""Largest table whose keys are searched for a spelling similar to an unknown key."""
_FEW = 256
"""As many entries are searched or decoded one by one; more of them are faster all at once."""
_WORDS = 8  # keys are rarely longer than 64 bytes
_KEPT = np.array([2**64 - 2 ** (64 - 8 * n_bytes) for n_bytes in range(9)], dtype=np.uint64)


class Texts(Sequence[str]):
    """An immutable sequence of strings, stored as one UTF-8 blob.

    Parameters
    ----------
    blob : ndarray of shape (n_bytes,), dtype=uint8
        The entries, one after another.
    offsets : ndarray of shape (n + 1,), dtype=int64
        Entry ``i`` is ``blob[offsets[i]:offsets[i + 1]]``.

    Examples
    --------
    >>> names = Texts.from_strings(["oak", "", "Ahorn"])
    >>> names[2], len(names), list(names)
    ('Ahorn', 3, ['oak', '', 'Ahorn'])
    """

    __slots__ = ("blob", "offsets")

    def __init__(self, blob: NDArray[np.uint8], offsets: NDArray[np.int64]) -> None:
        if (
            len(offsets) == 0
            or offsets[0] != 0
            or offsets[-1] != len(blob)
            or (offsets[1:] < offsets[:-1]).any()
        ):
            raise InputError(f"offsets: must rise from 0 to the length of the blob ({len(blob)} bytes)")
        self.blob = blob
        self.offsets = offsets

    @classmethod
    def from_strings(cls, strings: Iterable[str]) -> Texts:
        """Build the table of `strings`; a string that UTF-8 cannot encode raises `InputError`."""
        return cls(*_encode(strings))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def text_fault(self) -> str | None:
        """Return the reason why the entries are not valid UTF-8, or None if they are valid.

        A forged file may contain invalid entries. The reason begins with the name of the array, ``blob`` or
        ``offsets``.
        """
        try:
            self.blob.tobytes().decode()
        except UnicodeDecodeError as error:
            return f"blob: {error}"
        starts = self.offsets[:-1][self.offsets[:-1] < len(self.blob)]
        inside = self.blob[starts] & 0xC0 == 0x80  # 10xxxxxx is a byte inside a character
        return "offsets cut a character in two" if inside.any() else None

    def bytes_at(self, i: int) -> bytes:
        """Return entry `i` (not negative) as its UTF-8 bytes."""
        return self.blob[self.offsets[i] : self.offsets[i + 1]].tobytes()

    @overload
    def __getitem__(self, i: int) -> str: ...
    @overload
    def __getitem__(self, i: slice) -> tuple[str, ...]: ...
    def __getitem__(self, i: int | slice) -> str | tuple[str, ...]:
        if isinstance(i, slice):
            chosen = range(*i.indices(len(self)))
            if chosen.step != 1:
                return tuple(self[j] for j in chosen)
            return tuple(self._decoded(chosen.start, max(chosen.start, chosen.stop)))
        n = len(self)
        if not -n <= i < n:
            raise IndexError(f"index {i} is outside a table of {n} entries")
        return self.bytes_at(int(i) % n).decode()

    def __iter__(self) -> Iterator[str]:
        return self._decoded(0, len(self))

    def _decoded(self, start: int, stop: int) -> Iterator[str]:
        """Return the entries from `start` to `stop` (exclusive); their part of the blob is copied once."""
        bounds = self.offsets[start : stop + 1]
        data = self.blob[bounds[0] : bounds[-1]].tobytes()
        places = pairwise((bounds - bounds[0]).tolist())
        if data.isascii():  # a byte is a character: decode everything at once
            text = data.decode()
            return (text[a:b] for a, b in places)
        return (data[a:b].decode() for a, b in places)

    def subset(self, indices: NDArray[np.integer]) -> Texts:
        """Return the table of the entries at `indices`, in the given order; O(bytes), without decoding."""
        return Texts(*self._gathered(indices))

    def _gathered(self, indices: NDArray[np.integer]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        begin, length = self.offsets[:-1][indices], np.diff(self.offsets)[indices]
        offsets = np.zeros(len(indices) + 1, dtype=np.int64)
        np.cumsum(length, out=offsets[1:])
        index = np.int32 if max(len(self.blob), int(offsets[-1])) < 2**31 else np.int64
        at = np.arange(offsets[-1], dtype=index) + np.repeat((begin - offsets[:-1]).astype(index), length)
        return self.blob[at], offsets

    def take(self, indices: Iterable[int] | NDArray[np.integer]) -> tuple[str, ...]:
        """Return the entries at `indices`, decoded, in the given order."""
        listed = indices if isinstance(indices, np.ndarray) else np.array(list(indices), dtype=np.int64)
        if len(listed) <= _FEW:
            return tuple(self[int(i)] for i in listed)
        return tuple(Texts(*self._gathered(listed.astype(np.int64))))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Texts):
            return np.array_equal(self.offsets, other.offsets) and np.array_equal(self.blob, other.blob)
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = ", ".join(repr(t) for t in self[:3])
        return f"{type(self).__name__}({shown}{', ...' if len(self) > 3 else ''}; n={len(self)})"


class Words:
    """The bytes of the entries of a table, eight at a time, as numbers that sort like these bytes.

    Attributes
    ----------
    length : ndarray of shape (n,), dtype=int64
        Number of bytes of each entry.

    Notes
    -----
    Preparation takes a copy of the blob.
    """

    def __init__(self, texts: Texts) -> None:
        self._begin, self.length = texts.offsets[:-1], np.diff(texts.offsets)
        self._end = len(texts.blob)
        padded = np.concatenate([texts.blob, np.zeros(8, dtype=np.uint8)])
        self._numbers: NDArray[np.uint64] = np.ndarray(self._end + 1, "=u8", padded, strides=(1,))

    def of(self, entries: NDArray[np.integer], done: int) -> NDArray[np.uint64]:
        """Return the eight bytes of each of the `entries` that follow its first `done` bytes.

        Zeros stand for bytes after the end of an entry.
        """
        numbers: NDArray[np.uint64] = self._numbers[np.minimum(self._begin[entries] + done, self._end)]
        if sys.byteorder == "little":
            numbers = numbers.byteswap()
        numbers &= _KEPT[np.clip(self.length[entries] - done, 0, 8)]
        return numbers


class Keys(Texts):
    """Unique strings in a fixed order, found by binary search over their bytes.

    Parameters
    ----------
    blob, offsets
        As for `Texts`.
    order : ndarray of shape (n,), dtype=int32
        Indices of the entries in ascending order of their UTF-8 bytes.

    Examples
    --------
    >>> keys = Keys.from_strings(["root", "b", "a"])
    >>> keys.index("a"), "b" in keys, "c" in keys
    (2, True, False)
    """

    __slots__ = ("_index", "_n_requested", "order")

    def __init__(self, blob: NDArray[np.uint8], offsets: NDArray[np.int64], order: NDArray[np.int32]) -> None:
        super().__init__(blob, offsets)
        if len(order) != len(self):
            raise InputError(f"order: {len(order)} entries for {len(self)} keys; give one for each")
        self.order = order
        self._index: dict[str, int] | None = None
        self._n_requested = 0

    @classmethod
    def from_strings(cls, strings: Iterable[str]) -> Keys:
        """Build a table of unique keys in the given order; a repeated key raises `InputError`."""
        listed = list(strings)
        order = sorted(range(len(listed)), key=listed.__getitem__)  # code points and UTF-8 bytes sort alike
        for a, b in pairwise(order):
            if listed[a] == listed[b]:
                raise InputError(
                    f"keys: {listed[a]!r} occurs twice (positions {a} and {b}); keys must differ"
                )
        blob, offsets = _encode(listed)
        return cls(blob, offsets, np.array(order, dtype=np.int32))

    def order_fault(self) -> str | None:
        """Return the reason why binary search would fail, or None if it works.

        A forged file may contain an `order` that does not sort the keys, or keys that are equal or empty.

        Notes
        -----
        Eight bytes at a time are compared as one number. Keys whose first `_WORDS` numbers are equal are
        then compared as bytes.
        """
        n = len(self)
        if n and not (self.order.min() >= 0 and self.order.max() < n):
            return f"order: an entry is outside 0..{n - 1}"
        if (np.bincount(self.order, minlength=n) != 1).any():
            return "order is not a permutation"
        if not self._ascends():
            return "order does not put the keys into ascending order of distinct, non-empty bytes"
        return None

    def _ascends(self) -> bool:
        words = Words(self)
        if not words.length.all():
            return False
        numbers = words.of(self.order, 0)
        if (numbers[:-1] > numbers[1:]).any():
            return False
        equal = np.flatnonzero(numbers[:-1] == numbers[1:])  # neighbors in the order that are equal so far
        low, high = self.order[equal], self.order[equal + 1]
        for done in range(8, 8 * _WORDS, 8):
            if not len(low):
                return True
            low_words, high_words = words.of(low, done), words.of(high, done)
            if (low_words > high_words).any():
                return False
            equal = np.flatnonzero(low_words == high_words)
            low, high = low[equal], high[equal]
        return all(
            self.bytes_at(i) < self.bytes_at(j) for i, j in zip(low.tolist(), high.tolist(), strict=True)
        )

    def subset(self, indices: NDArray[np.integer]) -> Keys:
        """Return the table of the keys at `indices`, in the given order, without decoding.

        The indices must be distinct.
        """
        place = np.full(len(self), -1, dtype=np.int32)
        place[indices] = np.arange(len(indices), dtype=np.int32)
        order = place[self.order]
        return Keys(*self._gathered(indices), order[order >= 0])

    def find(self, key: str) -> int:
        """Return the index of `key`, or -1 if it is absent; O(log n), without decoding the table."""
        if self._index is not None:
            return self._index.get(key, -1)
        try:
            wanted = key.encode()
        except UnicodeEncodeError:
            return -1
        low, high = 0, len(self)
        while low < high:
            middle = (low + high) // 2
            if self.bytes_at(int(self.order[middle])) < wanted:
                low = middle + 1
            else:
                high = middle
        if low < len(self) and self.bytes_at(int(self.order[low])) == wanted:
            return int(self.order[low])
        return -1

    def index(self, key: str, start: int = 0, stop: int | None = None) -> int:
        """Return the index of `key`; an absent key raises `UnknownLabelError`."""
        i = self.find(key) if isinstance(key, str) else -1
        if i < start or (stop is not None and i >= stop):
            labels = counted(len(self), "label")
            raise UnknownLabelError(f"label {key!r} is not among the {labels}{self._nearest(key)}")
        return i

    def indices(
        self, keys: Iterable[str], names: Callable[[], Sequence[str]] | None = None
    ) -> NDArray[np.int64]:
        """Return the indices of `keys`, in the given order.

        If keys are absent, one `UnknownLabelError` lists the first five. If the first absent key is the name
        of a label, the message gives that label's key. `names` returns the names of all labels, and is called
        only to write this message.

        Notes
        -----
        O(log n) for each key. Once a quarter as many keys have been requested as there are in the table, the
        whole table is decoded into a dictionary, which is kept.
        """
        wanted = list(keys)
        self._n_requested += len(wanted)
        if self._index is None and self._n_requested > len(self) // 4 + _FEW:
            self._index = {k: i for i, k in enumerate(self)}
        found = self._found(wanted)
        absent = [k for k, i in zip(wanted, found.tolist(), strict=True) if i < 0]
        if absent:
            raise UnknownLabelError(
                f"{len(absent):,} of {counted(len(wanted), 'label')} not found among the "
                f"{counted(len(self), 'label')}: "
                f"{first_few([repr(k) for k in absent])}{self._named(absent[0], names)}"
            )
        return found

    def _found(self, wanted: list[str]) -> NDArray[np.int64]:
        """Return the index of each of the keys `wanted`, -1 for those that are absent."""
        if self._index is None and len(wanted) > _FEW:
            try:
                return self._searched(Texts.from_strings(wanted))
            except InputError:  # one of them cannot be a key; the others are looked up one by one
                pass
        found = (self.find(k) if isinstance(k, str) else -1 for k in wanted)
        return np.fromiter(found, dtype=np.int64, count=len(wanted))

    def _searched(self, wanted: Texts) -> NDArray[np.int64]:
        """Return the same as `_found`, by one binary search for all entries of `wanted`."""
        words, wanted_words = Words(self), Words(wanted)
        low, high = np.zeros(len(wanted), dtype=np.int64), np.full(len(wanted), len(self))
        while len(open_ := np.flatnonzero(low < high)):
            middle = (low[open_] + high[open_]) // 2
            above = _compared(words, self.order[middle], wanted_words, open_) < 0
            low[open_[above]], high[open_[~above]] = middle[above] + 1, middle[~above]
        found = self.order[np.minimum(low, len(self) - 1)].astype(np.int64)
        every = np.arange(len(wanted))
        return np.where(_compared(words, found, wanted_words, every) == 0, found, -1)

    def _named(self, key: object, names: Callable[[], Sequence[str]] | None) -> str:
        listed = () if names is None else names()
        if not isinstance(key, str) or key not in listed:
            return self._nearest(key)
        return f"; {key!r} {is_name_of([self[listed.index(key)]])}"

    def _nearest(self, key: object) -> str:
        if not isinstance(key, str):
            there = f", and {str(key)!r} is a label" if str(key) in self else ""
            return f"; keys are text{there}: pass str(key), not a value of type {type(key).__name__}"
        return close_to(key, self) if len(self) <= _MOST_COMPARED else ""

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and self.find(key) >= 0


def _compared(
    words: Words, entries: NDArray[np.integer], others: Words, other_entries: NDArray[np.integer]
) -> NDArray[np.int64]:
    """Return -1, 0 or 1 for each pair of entries: whether the bytes of the first sort before the second."""
    sign = np.zeros(len(entries), dtype=np.int64)
    length, other_length = words.length[entries], others.length[other_entries]
    left, done = np.arange(len(entries)), 0
    while len(left):
        one, other = words.of(entries[left], done), others.of(other_entries[left], done)
        sign[left] = (one > other).astype(np.int64) - (one < other)
        done += 8
        left = left[(one == other) & (np.maximum(length[left], other_length[left]) > done)]
    # bytes after the end count as zeros, which a longer entry may contain
    return np.where(sign == 0, np.sign(length - other_length), sign)


def is_name_of(keys: Sequence[str]) -> str:
    """Return the part of a message which says that a word is not a key but the name of labels.

    `keys` are the keys of these labels.

    >>> is_name_of(["n02084071", "n10114209"])
    "is the name of 'n02084071', 'n10114209': give keys"
    """
    return f"is the name of {first_few([repr(key) for key in keys])}: give keys"


def stored_texts(arrays: Mapping[str, NDArray[Any]], prefix: str) -> Texts:
    """Return the `Texts` that a file stores in the arrays ``PREFIX.blob`` and ``PREFIX.offsets``.

    Raises
    ------
    InputError
        If an array is missing, has another dtype or shape, or does not contain text.
    """
    blob = stored_array(arrays, f"{prefix}.blob", np.uint8)
    table = Texts(blob, stored_array(arrays, f"{prefix}.offsets", np.int64))
    if fault := table.text_fault():
        raise InputError(f"{prefix}.{fault}")
    return table


def _encode(strings: Iterable[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    listed = list(strings)
    if set(map(type, listed)) == {str} and (joined := "".join(listed)).isascii():
        return np.frombuffer(joined.encode(), dtype=np.uint8), _offsets(listed)
    parts: list[bytes] = []
    for i, text in enumerate(listed):
        if not isinstance(text, str):
            raise InputError(
                f"entry {i} is {text!r} of type {type(text).__name__}; every entry must be a str"
            )
        try:
            parts.append(text.encode())
        except UnicodeEncodeError:
            raise InputError(
                f"entry {i} is {text!r}, which contains a lone surrogate; UTF-8 cannot encode it: remove it"
            ) from None
    return np.frombuffer(b"".join(parts), dtype=np.uint8), _offsets(parts)


def _offsets(parts: Sequence[Sized]) -> NDArray[np.int64]:
    """Return where each part begins if they are joined, and where the last one ends."""
    offsets = np.zeros(len(parts) + 1, dtype=np.int64)
    np.cumsum(np.fromiter(map(len, parts), dtype=np.int64, count=len(parts)), out=offsets[1:])
    return offsets
