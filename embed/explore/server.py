"""The local server of ``firth explore``: one page, and answers as JSON to its script alone."""

import json
import secrets
import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from firth.corpora.common.errors import FirthError, SettingError, UnknownWordError, imported
from firth.corpora.common.options import as_command_line
from firth.corpora.store.collocates import collocates
from firth.corpora.store.concordance import concordance
from firth.corpora.store.corpus import Corpus
from firth.corpora.store.fields import kept_fields
from firth.embed.explore.maps import METHODS, has_umap
from firth.embed.explore.space import Once, Resampling, Space, compare_spaces, shown

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

PAGE_FILES = {  # by path: file of the folder page/, and its type
    "/": ("index.html", "text/html"),
    "/page.css": ("page.css", "text/css"),
    "/data.js": ("data.js", "text/javascript"),
    "/map.js": ("map.js", "text/javascript"),
    "/page.js": ("page.js", "text/javascript"),
}
SCRIPTS = ("data.js", "map.js", "page.js")  # in the order in which they run
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_TOKEN = "X-Firth-Token"
_LONGEST = 500  # characters of an error
_LONGEST_TEXT = 10_000  # characters of a question
_DIFFERING, _NEAR = 1000, 10  # words that differ, and neighbors of each


def require_packages() -> None:
    """Raise if the packages of the extra are not installed."""
    needs = "the server needs the packages starlette and uvicorn; pip install 'firth[explore]'"
    for package in ("starlette", "uvicorn"):
        imported(package, SettingError(needs))


class Answers:
    """The answers to all questions of the page, by path."""

    def __init__(
        self, spaces: Sequence[Space], corpus: Corpus | None, first_map: str = "pca"
    ) -> None:
        # two threads that import different parts of it at once fail, since these import each other
        import tokenizers  # noqa: F401

        self._spaces = spaces
        self._first_map = first_map
        self._corpus = corpus
        # collocates take seconds, which lines do not wait for
        self._line_lock, self._collocate_lock = threading.Lock(), threading.Lock()
        self._once = Once()
        self._reporters: dict[tuple[int, int], Resampling] = {}  # of chance that is measured
        self.routes: dict[str, Callable[[Request], Any]] = {
            "/api/info": self._info,
            "/api/words/{n:int}": lambda ask: self._words(self._space(ask)),
            "/api/map/{n:int}": self._map,
            "/api/clusters/{n:int}": lambda ask: {
                "clusters": self._space(ask).clusters(_number(ask, "k", 12, 2, 50))
            },
            "/api/neighbors/{n:int}": lambda ask: self._space(ask).neighbors(
                _text(ask, "word"), _number(ask, "k", 10, 1, 1000)
            ),
            "/api/intervals/{n:int}": lambda ask: self._space(ask).intervals(
                _text(ask, "word"), _number(ask, "k", 10, 1, 50)
            ),
            "/api/why/{n:int}": lambda ask: asdict(
                self._space(ask).why(_text(ask, "a"), _text(ask, "b"))
            ),
            "/api/direction/{n:int}": lambda ask: self._space(ask).direction(
                _text(ask, "pairs"), ask.query_params.get("words", "").split(), 10
            ),
            "/api/context/{n:int}": lambda ask: {
                "answers": self._space(ask).in_context(
                    _text(ask, "text"), _number(ask, "k", 10, 1, 1000)
                )
            },
            "/api/fill/{n:int}": lambda ask: {
                "predictions": self._space(ask).fill(
                    _text(ask, "text"), _number(ask, "k", 10, 1, 1000)
                )
            },
            "/api/attention/{n:int}": lambda ask: self._space(ask).attention(_text(ask, "text")),
            "/api/concordance": self._concordance,
            "/api/collocates": self._collocates,
            "/api/differ": self._differ,
        }

    def _space(self, ask: "Request") -> Space:
        """Return the run that a path names."""
        number = int(ask.path_params["n"])
        if number >= len(self._spaces):
            raise SettingError(f"there is no run {number}; runs are 0 to {len(self._spaces) - 1}")
        return self._spaces[number]

    def _info(self, _: "Request") -> dict[str, Any]:
        """Return what was opened."""
        corpus = self._corpus
        name = corpus and corpus.path.resolve().name
        about = corpus and {"name": name, "tokens": corpus.n_tokens, "fields": kept_fields(corpus)}
        runs = [space.describe() for space in self._spaces]
        return {"runs": runs, "corpus": about, "map": self._first_map, "umap": has_umap()}

    def _words(self, space: Space) -> dict[str, Any]:
        """Return all words of a run, most frequent first."""
        counts = None if space.counts is None else space.counts.tolist()
        return {"words": space.words, "counts": counts}

    def _map(self, ask: "Request") -> bytes | dict[str, float]:
        """Return the places of all words, or how much of a slow map is made."""
        method = ask.query_params.get("method", "pca")
        if method not in METHODS:
            raise SettingError(f"method={method[:20]}: expected {' or '.join(METHODS)}")
        space = self._space(ask)
        found = space.map() if method == "pca" else space.map_or_percent(method)
        return {"percent": found} if isinstance(found, float) else found.astype("<f4").tobytes()

    def _concordance(self, ask: "Request") -> dict[str, Any]:
        """Return lines of the corpus."""
        with self._line_lock:
            found = concordance(
                self._text_corpus(),
                _text(ask, "query"),
                order=ask.query_params.get("sort", "text"),
                documents=ask.query_params.get("documents") or None,
                lines=_number(ask, "n", 50, 1, 10_000),
            )
        return {"found": found.n_found, "lines": [asdict(line) for line in found.lines]}

    def _collocates(self, ask: "Request") -> Any:
        """Return collocates of a query, of some documents if they are chosen."""
        with self._collocate_lock:
            found = collocates(
                self._text_corpus(),
                _text(ask, "query"),
                top=_number(ask, "n", 20, 1, 1000),
                versus_documents=ask.query_params.get("documents") or None,
            )
        return asdict(found)

    def _differ(self, ask: "Request") -> dict[str, Any]:
        """Return the words that two runs treat differently, or how far ``chance`` is measured."""
        last = len(self._spaces) - 1
        pair = _number(ask, "a", 0, 0, last), _number(ask, "b", 1, 0, last)
        a, b = (self._spaces[n] for n in pair)
        if "chance" not in ask.query_params:
            found = self._once.get(pair, lambda: compare_spaces(a, b))
            found = replace(found, no_chance=None)  # nobody asked
        else:
            reporter = self._reporters.setdefault(pair, Resampling())
            making = self._once.begun(pair, lambda: compare_spaces(a, b, reporter=reporter))
            if not making.done():
                return {"percent": reporter.percent}
            found = making.result()
        word = ask.query_params.get("word", "")
        words = shown(found, (a, b), _DIFFERING, _NEAR, word)
        return {"words": words, "no_chance": found.no_chance, "n": found.n_shared}

    def _text_corpus(self) -> Corpus:
        """Return the corpus; raise if there is none."""
        if self._corpus is None:
            raise SettingError("no corpus is open; pass `corpus`")
        return self._corpus


def make_app(answers: Answers, token: str, hosts: Sequence[str]) -> "ASGIApp":
    """Return the application, which answers requests for ``hosts`` that know the token."""
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.responses import Response
    from starlette.routing import Route

    def page(request: "Request") -> "Response":
        name, kind = PAGE_FILES[request.url.path]
        return Response(page_file(name), media_type=kind)

    def answered(answer: "Callable[[Request], Any]") -> "Callable[[Request], Response]":
        def endpoint(request: "Request") -> "Response":
            try:
                found = answer(request)
            except UnknownWordError as error:
                return _error(str(error), 404)
            except FirthError as error:
                return _error(str(error), 400)
            except OSError as error:  # such as of a corpus that was deleted
                return _error(f"{error.filename or 'a file'}: {error.strerror or error}", 400)
            if isinstance(found, bytes):
                return Response(found, media_type="application/octet-stream")
            return _json(found)

        return endpoint  # not async, so that it runs in a thread

    def failed(_: "Request", error: Exception) -> "Response":
        if isinstance(error, HTTPException):
            return _error(error.detail, error.status_code)
        return _error("internal error; the terminal shows where", 500)

    routes = [Route(path, page) for path in PAGE_FILES]
    routes += [Route(path, answered(answer)) for path, answer in answers.routes.items()]
    app = Starlette(routes=routes, exception_handlers={HTTPException: failed, Exception: failed})
    return _guarded(app, token, hosts)


def page_file(name: str) -> bytes:
    """Return a file of the page; empty if it does not exist."""
    file = files("firth.embed.explore").joinpath("page", name)
    return file.read_bytes() if file.is_file() else b""


def _guarded(app: "ASGIApp", token: str, hosts: Sequence[str]) -> "ASGIApp":
    """Refuse strangers, and add headers to every response."""
    from starlette.datastructures import MutableHeaders
    from starlette.requests import Request

    def refusal(request: Request) -> "Response | None":
        if request.headers.getlist("host") not in [[host] for host in hosts]:
            return _error("wrong host; open the address that the terminal shows", 403)
        path = request.url.path
        if path in PAGE_FILES and path != "/":
            return None
        given = [request.headers.get(_TOKEN, ""), request.query_params.get("token", "")]
        if any(secrets.compare_digest(each.encode(), token.encode()) for each in given):
            return None
        return _error("wrong token; open the address that the terminal shows", 403)

    async def guarded(scope: "Scope", receive: "Receive", send: "Send") -> None:
        async def send_with_headers(message: "Message") -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        chosen = refusal(Request(scope)) if scope["type"] == "http" else None
        await (chosen or app)(scope, receive, send_with_headers)

    return guarded


def _text(request: "Request", name: str) -> str:
    """Return a parameter that must be given."""
    value = request.query_params.get(name, "")
    if not value.strip():
        raise SettingError(f"the parameter {name} is missing")
    if len(value) > _LONGEST_TEXT:
        raise SettingError(f"the parameter {name} has more than {_LONGEST_TEXT:,} characters")
    return value


def _number(request: "Request", name: str, default: int, low: int, high: int) -> int:
    """Return a parameter as a number."""
    value = request.query_params.get(name, str(default))
    if not (value.isascii() and value.isdigit() and len(value) < 10 and low <= int(value) <= high):
        raise SettingError(f"{name}={value[:20]}: expected a number from {low} to {high}")
    return int(value)


def _error(message: str, status: int) -> "Response":
    """Return an error of one line."""
    line = " ".join(as_command_line(message).split())
    return _json({"error": line if len(line) <= _LONGEST else f"{line[:_LONGEST]} ..."}, status)


def _json(value: Any, status: int = 200) -> "Response":
    """Return JSON in ASCII, which can hold any word; numbers that are not finite become null."""
    from starlette.responses import Response

    try:
        text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    except ValueError:
        finite = json.loads(json.dumps(value), parse_constant=lambda _: None)
        text = json.dumps(finite, separators=(",", ":"))
    return Response(text, status, media_type="application/json")
