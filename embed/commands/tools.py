"""The tools of ``firth mcp``: questions to a corpus and its runs, answered in bounded JSON."""

import inspect
import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from firth.corpora.common.errors import FirthError, SettingError, one_line
from firth.corpora.common.reporting import SilentReporter, reporting_to
from firth.corpora.store.collocates import collocates
from firth.corpora.store.concordance import Line, concordance
from firth.corpora.store.corpus import Corpus
from firth.corpora.store.fields import kept_fields
from firth.embed.change.saved import is_change, open_changes
from firth.embed.explore.space import Space
from firth.embed.resampling.intervals import neighbor_intervals, similarity_intervals

_MOST = 100  # lines, words, neighbors and the like
_LONGEST = 100_000  # characters of an answer
_NUMBER = {"type": "integer", "minimum": 0, "maximum": _MOST}
_KINDS: dict[Any, dict[str, Any]] = {
    str: {"type": "string"},
    str | None: {"type": ["string", "null"]},
    int: _NUMBER,
    int | None: _NUMBER,  # None is for all, which are too many
    Sequence[str]: {"type": "array", "items": {"type": "string"}, "maxItems": _MOST},
}


class Tools:
    """Answers about a corpus and its runs, some of which may be of ``firth change``."""

    def __init__(self, corpus: Path, runs: Sequence[Path]) -> None:
        self._corpus = Corpus.open(corpus)
        self._changes = {str(run): open_changes(run) for run in runs if is_change(run)}
        vectors = [run for run in runs if not is_change(run)]
        self._spaces = {str(run): Space(run, 0, corpus, str(run)) for run in vectors}
        self.by_name: dict[str, Callable[..., Any]] = {
            "concordance": partial(concordance, self._corpus, lines=20),
            "collocates": partial(collocates, self._corpus),
            **({"neighbors": self.neighbors, "why": self.why} if vectors else {}),
            **({"change": self.change} if self._changes else {}),
        }

    def about(self) -> str:
        """Return what is open, for the reader of the answers."""
        periods = [f"{name} ({', '.join(c.names)})" for name, c in self._changes.items()]
        return (
            f"{self._corpus!r} whose documents have the fields: {kept_fields(self._corpus)}. Runs "
            f"of vectors: {[*self._spaces]}; of changes: {periods}. Answers have counts of tokens, "
            "95 % intervals (low, high) or the reason why there is none, and documents of lines."
        )

    def answer(self, name: str, arguments: Mapping[str, Any]) -> str:
        """Return the answer of a tool as JSON; raise FirthError if there is none."""
        from jsonschema import Draft4Validator  # mcp brings it

        name, tool = _pick(self.by_name, name)
        for error in Draft4Validator(described(tool)["input_schema"]).iter_errors(arguments):
            raise SettingError(": ".join([name, *map(str, error.path), error.message]))
        found = json.loads(
            json.dumps(tool(**arguments), default=_data),
            parse_float=lambda x: float(f"{float(x):.4g}"), parse_constant=lambda _: None,
        )  # fmt: skip
        if len(text := json.dumps(found, ensure_ascii=False)) > _LONGEST:
            raise SettingError(f"the answer has {len(text):,} characters; ask for less")
        return text

    def neighbors(self, word: str, k: int = 10, run: str = "") -> dict[str, Any]:
        """Return the words whose vectors are nearest to that of a word, by cosine.

        A neighbor is stable if it is among the k nearest in 90 % of texts of the same kind
        (share). There are intervals for k of at most 50.
        """
        name, space = _pick(self._spaces, run)
        found = space.neighbors(word, k)
        return {
            "run": name,
            **found,
            **self._intervals(neighbor_intervals, space, found["word"], k),
        }

    def why(self, first: str, second: str, run: str = "") -> dict[str, Any]:
        """Return what makes two words near: the contexts that they share, with a line of each.

        Shares are of the similarity by contexts; the interval is that of the cosine.
        """
        name, space = _pick(self._spaces, run)
        found = space.why(first, second)
        interval = self._intervals(similarity_intervals, space, *found.words)
        counts = [space.neighbors(word, 1)["count"] for word in found.words]
        return {"run": name, "count": counts, **interval, **vars(found)}

    def change(
        self, words: Sequence[str] = (), top: int = 10, k: int = 5, lines: int = 2,
        run: str = "",
    ) -> dict[str, Any]:  # fmt: skip
        """Return how words change between periods; without words, those that change most surely.

        The distance is 1 - cosine of the vectors of the first and the last period, chance a typical
        one by chance. Counts, the k nearest words and lines are those of each period.
        """
        name, changes = _pick(self._changes, run)
        most = lines if changes.periods.corpora else 0
        found = changes.describe(words or None, top=top, k=k, lines=most)
        return {"run": name, "periods": changes.names, "no_p": changes.no_p, "words": found}

    def _intervals(self, answer: Any, space: Space, *question: Any) -> dict[str, Any]:
        """Return an answer with intervals, or why there are none."""
        try:
            [found] = answer(space.vectors, *question, corpora=[self._corpus.path])
            return vars(found)
        except FirthError as error:
            return {"reason": one_line(error)}


def serve(tools: Tools) -> None:
    """Answer until the end of standard input."""
    from anyio import CapacityLimiter, run, to_thread
    from mcp import types
    from mcp.server.lowlevel import Server
    from mcp.server.stdio import stdio_server

    one_at_a_time = CapacityLimiter(1)

    async def listed(*_: Any) -> types.ListToolsResult:
        listing = [types.Tool(name=n, **described(t)) for n, t in tools.by_name.items()]
        return types.ListToolsResult(tools=listing)

    async def called(_: Any, asked: types.CallToolRequestParams) -> types.CallToolResult:
        ask = partial(tools.answer, asked.name, asked.arguments or {})
        try:
            text, failed = await to_thread.run_sync(ask, limiter=one_at_a_time), False
        except (FirthError, OSError) as error:
            text, failed = one_line(error)[:500], True
        content = types.TextContent(type="text", text=text.encode(errors="replace").decode())
        return types.CallToolResult(content=[content], is_error=failed)

    async def main() -> None:
        async with stdio_server() as (questions, answers):
            await server.run(questions, answers, server.create_initialization_options())

    about = tools.about()
    server = Server("firth", instructions=about, on_list_tools=listed, on_call_tool=called)
    with reporting_to(SilentReporter()):
        run(main)


def described(tool: Any) -> dict[str, Any]:
    """Return what a tool does, without what only Python needs, and the schema of its arguments."""
    text = inspect.cleandoc(getattr(tool, "func", tool).__doc__).partition("\nRaises\n")[0]
    parameters = inspect.signature(tool).parameters.values()
    schema = {
        "type": "object", "additionalProperties": False,
        "required": [p.name for p in parameters if p.default is p.empty],
        "properties": {
            p.name: _KINDS[p.annotation] | ({} if p.default is p.empty else {"default": p.default})
            for p in parameters
        },
    }  # fmt: skip
    text = re.sub(r"corpus : .*\n    .*\n", "", text).strip()
    return {"description": text, "input_schema": schema, "annotations": {"read_only_hint": True}}


def _pick(named: Mapping[str, Any], name: str) -> tuple[str, Any]:
    """Return a run or tool with its name, by default the first."""
    name = name or next(iter(named))
    if name not in named:
        raise SettingError(f"there is no {name[:50]!r}; pass one of: {', '.join(named)}")
    return name, named[name]


def _data(value: Any) -> Any:
    """Return a result as JSON data; a line with where it is from."""
    if not isinstance(value, Line):
        return vars(value)
    text = f"{value.left} [{value.found}] {value.right}".strip()
    return {"document": value.document, "citation": value.citation, "text": text}
