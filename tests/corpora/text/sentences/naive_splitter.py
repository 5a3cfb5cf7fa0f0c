"""A naive splitter by the rules of `firth.corpora.text.sentences`, on str; slow on purpose."""

import re
import unicodedata

from firth.corpora.text.sentences import rules

FLAGS = rules.word_flags()
TERMINATORS = {c: kind for kind, characters in rules.TERMINATORS.items() for c in characters}
ABBREVIATION = (
    rules.NEVER_ENDS | rules.MAY_END | rules.BEFORE_NUMBER | rules.UNIT | rules.ENDS
)  # fmt: skip
LETTERS = ("upper", "lower", "uncased", "unspaced")
NAMES = {
    rules.STOP: "stop", rules.STRONG: "strong", rules.ELLIPSIS: "ellipsis", rules.WIDE: "wide",
}  # fmt: skip


def kind_of(c: str) -> str:
    """Return the class of a character by name."""
    if c == "":
        return "space"
    if c in TERMINATORS:
        return NAMES[TERMINATORS[c]]
    if c in ",;:،؛、，；：､":
        return "comma"
    if c in "\"'`´":
        return "quote"
    if c in "¿¡":
        return "open"
    if c == "-":
        return "dash"
    if c in "\t\n\v\f\r\x85":
        return "space"
    if "\U0001f000" <= c <= "\U0001faff" or "\u2600" <= c <= "\u27bf":
        return "emoji"
    if re.match("[\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0010ffff]", c):
        return "unspaced"
    if "\u10d0" <= c <= "\u10ff":
        return "uncased"
    category = unicodedata.category(c)
    exact = {"Lu": "upper", "Lt": "upper", "Ll": "lower", "Lo": "uncased", "Lm": "uncased",
             "Ps": "open", "Pe": "close", "Pi": "quote", "Pf": "quote", "Pd": "dash",
             "Cf": "mark"}  # fmt: skip
    broad = {"Z": "space", "N": "digit", "M": "mark"}
    return exact.get(category) or broad.get(category[0]) or "other"


def is_word(c: str) -> bool:
    """Return whether a character is a letter or digit."""
    return kind_of(c) in (*LETTERS, "digit")


def flags(word: str) -> int:
    """Return the flags of a word."""
    return FLAGS.get(word.replace(" ", ""), 0)


def skip_spaces(text: str, at: int) -> int:
    """Return the next position that is not a space."""
    while at < len(text) and kind_of(text[at]) == "space":
        at += 1
    return at


def trailing(text: str, allowed: tuple[str, ...]) -> str:
    """Return the longest suffix whose characters are of the allowed classes."""
    at = len(text)
    while at > 0 and kind_of(text[at - 1]) in allowed:
        at -= 1
    return text[at:]


def spaced_end(text: str, start: int, at: int) -> int:
    """Skip spaces and what after them still belongs to the sentence."""
    place = skip_spaces(text, at)
    if place == at or place == len(text):
        return at
    c, after = text[place], kind_of(text[place + 1 : place + 2])
    if c in "»›":
        return place + 1 if after in ("space", "comma", *NAMES.values()) else at
    if c in TERMINATORS:
        joins = after not in (*LETTERS, "digit", "stop") and kind_of(c) != "ellipsis"
        return place if joins else at
    if c == '"' and after == "space" and text.count('"', start, at) % 2:
        return place + 1
    if kind_of(c) == "emoji":
        return place + 1
    face = re.match("[:;=]-?[()DPp]", text[place:])
    if face and kind_of(text[place + face.end() : place + face.end() + 1]) == "space":
        return place + face.end()
    return at


def run_of(text: str, start: int, at: int) -> tuple[int, str, int]:
    """Return end, kind and number of closers of a run of terminators."""
    seen, dots, closers = set(), 0, 0
    while at < len(text):
        if re.match(" [A-Za-z0-9]", text[at:]):
            break
        c, kind = text[at], kind_of(text[at])
        footnote = re.match(r"\[[0-9]{1,3}\]", text[at:])
        if c in TERMINATORS:
            seen.add(kind)
            dots += 2 if kind == "ellipsis" else 1
            at += 1
        elif kind == "close" or (kind == "quote" and not ("wide" in seen and c in "“‘«‹")):
            closers += 1
            at += 1
        elif kind == "emoji" or (kind == "mark" and closers == 0):
            at += 1
        elif footnote:
            at += footnote.end()
        elif (end := spaced_end(text, start, at)) > at:
            at = end
        else:
            break
    for kind in ("wide", "strong"):
        if kind in seen:
            return at, kind, closers
    return at, "ellipsis" if dots > 1 else "stop", closers


def first_letter(text: str, at: int) -> tuple[int, str]:
    """Return the first letter or digit among the next six characters."""
    for place in range(at, min(at + 6, len(text))):
        kind = kind_of(text[place])
        if is_word(text[place]):
            return place, kind
        if kind in ("comma", "close", "strong", "wide"):
            break
    return at, "none"


def next_flags(text: str, at: int) -> int:
    """Return the flags of the next word."""
    end = at
    while end < len(text) and kind_of(text[end]) in (*LETTERS, "mark"):
        end += 1
    after = text[end : end + 1]
    if after in (".", "-") and after:
        return flags(text[at:end]) & rules.ORDINAL
    if after in ("'", "’") and after:
        return flags(text[at:end]) | flags(text[at:end] + "'")
    return flags(text[at:end])


class Token:
    """The token before a period."""

    def __init__(self, before: str) -> None:
        self.text, self.after_dash = "", False
        while before and len(self.text) <= 20:
            c, kind = before[-1], kind_of(before[-1])
            if c in "'’" and self.text:
                if kind_of(before[-2:-1]) not in LETTERS:
                    break
            elif kind in ("space", "open", "close", "quote", "comma", "strong", "ellipsis", "wide"):
                break
            elif kind == "dash":
                self.after_dash = is_word(before[-2:-1])
                break
            self.text, before = c + self.text, before[:-1]
        self.before = before
        found = [kind_of(c) for c in self.text]
        self.letters = sum(kind in LETTERS for kind in found)
        self.digits, self.dots = found.count("digit"), found.count("stop")
        self.others = len(found) - self.letters - self.digits - self.dots
        self.others += len(self.text) > 20
        self.others += sum(unlike_initial(c) for c in self.text)

    def flags(self) -> int:
        """Return the flags of the token, joined with the one before (z. B.)."""
        if self.letters <= 2 and self.digits == 0 and self.before.endswith(". "):
            head, tail = self.before[:-2], ""
            while len(tail) < 3 and head and (kind_of(head[-1]) in LETTERS or head[-1] == "."):
                head, tail = head[:-1], head[-1] + tail
            if joined := flags(tail + ". " + self.text):
                return joined
        return flags(self.text)

    def initials(self) -> bool:
        """Return whether the token is single letters with periods between."""
        pairs = any(
            kind_of(a) in LETTERS and kind_of(b) in LETTERS
            for a, b in zip(self.text, self.text[1:], strict=False)
        )
        plain = self.digits + self.others + self.after_dash == 0
        return self.letters > 0 and self.dots == self.letters - 1 and plain and not pairs

    def counts_item(self) -> bool:
        """Return whether it is a short number or letter, first or after a colon."""
        if self.dots or self.others or self.letters + self.digits > 3:
            return False
        if self.letters > 1 or (self.letters and self.digits):
            return False
        if self.before.endswith((":", ";")):
            return False
        for c in reversed(self.before):
            if c in ":;":
                return True
            if is_word(c) or c in TERMINATORS or kind_of(c) == "comma":
                return False
        return True


def unlike_initial(c: str) -> bool:
    """Letters that are words by themselves."""
    if kind_of(c) == "unspaced":
        return True
    known = "\u0590" <= c <= "\u0dff" or "\u1000" <= c <= "\u10ff"
    return kind_of(c) == "uncased" and not known


def is_ordinal(text: str, token: Token, letter: int, kind: str) -> bool:
    """Am 3. Oktober, in der 2. Runde, 3. 10. 1990."""
    before = token.before[: len(token.before) - len(trailing(token.before, ("space",)))]
    if kind == "digit":
        if re.search(r"[0-9]\.$", before):
            return True
        return re.match(r"[0-9]{0,2}\.", text[letter:]) is not None
    if next_flags(text, letter) & rules.ORDINAL:
        return True
    if before == token.before:
        return False
    return flags(trailing(before, LETTERS)) & rules.BEFORE_ORDINAL != 0


def stop_ends(text: str, start: int, at: int, place: int, letter: int, kind: str) -> bool:
    """Return whether a single period ends a sentence."""
    token = Token(text[start:at])
    if token.text == "":
        return True
    known = token.flags()
    if known & rules.NEVER_ENDS or token.counts_item():
        return False
    if known & rules.BEFORE_NUMBER and kind == "digit":
        return False
    if known & rules.ENDS:
        return True
    stripped = token.before[: len(token.before) - len(trailing(token.before, ("space",)))]
    if known & rules.UNIT and kind_of(stripped[-1:]) == "digit":
        return place == letter and kind_of(text[letter + 1 : letter + 2]) != "upper"
    if known & rules.MAY_END or token.initials():
        return next_flags(text, letter) & rules.STARTER != 0
    short = 0 < token.digits < 3 and token.letters + token.dots + token.others == 0
    if short and not token.after_dash:
        return not is_ordinal(text, token, letter, kind)
    return True


def small_begins(text: str, start: int, at: int, run: str, bracket: bool) -> bool:
    """Return whether a sentence ends although a lower-case letter follows."""
    first, first_kind = first_letter(text[:at], start)
    before = text[start:at]
    token = Token(before[: len(before) - len(trailing(before, ("space",)))])
    begin = start + len(token.before)
    if token.flags() & ABBREVIATION or token.letters < 2 or token.letters < len(token.text):
        return False
    if token.others:
        return False
    if first_kind == "lower" and (first != begin or token.letters > 3):
        return True
    if kind_of(token.text[0]) != "lower" or first == begin:
        return False
    long = token.letters > 7 or bracket or token.text[-1] in "aeiouy"
    return run == "strong" or (token.letters > 3 and long)


def boundary(text: str, start: int, at: int) -> tuple[int, int]:
    """Return the end of a run, and where a sentence begins after it, or -1."""
    end, run, closers = run_of(text, start, at)
    return end, boundary_after(text, start, at, end, run, closers)


def boundary_after(text: str, start: int, at: int, end: int, run: str, closers: int) -> int:
    """Return where a sentence begins after a run, or -1."""
    place = skip_spaces(text, end)
    if place == len(text):
        return -1
    kind = kind_of(text[place])
    if kind in ("comma", "close", "strong", "wide"):
        return -1
    before = kind_of(text[at - 1]) if at > start else "space"
    if place == end and run != "wide":
        return place if run == "strong" and kind == before == "unspaced" else -1
    if (closers and before == "open") or not any(map(is_word, text[start:at])):
        return -1
    if run == "wide":
        return -1 if closers and text.startswith(rules.PARTICLES, place) else place
    letter, found = first_letter(text, place)
    if found == "none" and kind == "quote":
        return -1
    if found == "lower" and re.match(r"http(:...|s:..)", text[letter:], re.DOTALL):
        found = "none"
    if found == "lower" and kind_of(text[letter + 1 : letter + 2]) != "upper":
        if run == "ellipsis" or closers:
            return -1
        return place if small_begins(text, start, at, run, text[place] == "(") else -1
    if run == "strong" and flags(trailing(text[start:at], LETTERS)) & rules.EXCLAIMS:
        return place if next_flags(text, letter) & rules.STARTER else -1
    if run == "stop" and not stop_ends(text, start, at, place, letter, found):
        return -1
    return place


def naive_sentences(paragraph: str) -> list[str]:
    """Split one paragraph."""
    starts, at = [0], 0
    while at < len(paragraph):
        solid = re.match("[ -~][A-Za-z0-9]", paragraph[at:])
        if paragraph[at] not in TERMINATORS or solid:
            at += 1
            continue
        at, found = boundary(paragraph, starts[-1], at)
        if found >= 0:
            starts.append(found)
            at = found
    ends = [*starts[1:], len(paragraph)]
    return [paragraph[a:b] for a, b in zip(starts, ends, strict=True) if a < b]


def naive_split(text: str) -> list[str]:
    """Split a text; each line is a paragraph."""
    return [s for line in re.findall(r"[^\n]*\n|[^\n]+", text) for s in naive_sentences(line)]
