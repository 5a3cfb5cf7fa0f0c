"""``firth explore``: look at runs and their text in the browser."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from firth.corpora.common.command import PATH, Command, option

if TYPE_CHECKING:
    from firth.embed.explore.server import Answers

_MOST_WORDS = 200_000  # the most frequent; a file has fewer


@click.command("explore", cls=Command)
@click.argument("runs", nargs=-1, required=True, metavar="RUN...", type=PATH)
@option(
    "--corpus",
    type=PATH,
    help="The corpus to search, or a folder of corpora; by default that of the first RUN.",
)
@option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    excludes=["--html"],
    help="Port of the local server; 0 for any free one.",
)
@option(
    "--no-browser", is_flag=True, excludes=["--html"], help="Print the address, but do not open it."
)
@option(
    "--html",
    type=PATH,
    metavar="FILE",
    help="Write the page to a file, which needs no server, instead.",
)
@option(
    "--map",
    "method",
    type=click.Choice(["pca", "umap"]),
    default="pca",
    help="How words are placed at first; umap takes minutes once, and the extra umap.",
)
@option("--force", is_flag=True, needs="--html", help="Overwrite the file at --html.")
def command(
    runs: tuple[Path, ...],
    corpus: Path | None,
    port: int,
    no_browser: bool,
    html: Path | None,
    method: str,
    force: bool,
) -> None:
    """Look at runs and their text in the browser.

    RUN is a run directory, a vectors file or a Hugging Face folder. The page shows
    a map of the words, their neighbors, sentences and collocates from the corpus,
    why words are near, directions such as from he to she, and what differs between
    two runs; two RUNs are shown beside each other. It is served to this
    machine only, at an address with a secret token, until Ctrl-C. This needs the
    extra explore; --html does not, and has the map, neighbors and differences.

    \b
    Example:
        firth explore out/svd out/skipgram
        firth explore out/svd --html page.html
    """
    from firth.corpora.artifacts.atomic import refuse_overwrite
    from firth.corpora.common.reporting import note
    from firth.embed.explore.maps import require_umap
    from firth.embed.explore.server import Answers, require_packages
    from firth.embed.explore.space import open_spaces
    from firth.embed.runs.run import Run, corpus_at

    if html is None:
        require_packages()
    else:
        refuse_overwrite(html, force)
    if method == "umap":
        require_umap()
    given = None if corpus is None else corpus_at(corpus, [Run.open(run) for run in runs])
    if html is not None:
        from firth.embed.explore.static_page import MOST_WORDS, write_page

        spaces = open_spaces(runs, MOST_WORDS, corpus)
        write_page(spaces, html, force=force, method=method)
        note(f"{html}: {html.stat().st_size / 1e6:.1f} MB")
        return
    spaces = open_spaces(runs, _MOST_WORDS, corpus)
    found = given or next((space.corpus for space in spaces if space.corpus), None)
    _serve(Answers(spaces, found, method), port, browser=not no_browser)


def _serve(answers: "Answers", port: int, *, browser: bool) -> None:
    """Answer requests until Ctrl-C."""
    import secrets
    import socket
    import threading
    import webbrowser

    import uvicorn

    from firth.corpora.common.errors import SettingError
    from firth.corpora.common.reporting import SilentReporter, reporting_to
    from firth.corpora.common.system import WINDOWS, system
    from firth.embed.explore.server import make_app

    with socket.socket() as listener:
        if system() != WINDOWS:  # where it would take a port that another program listens at
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", port))
        except OSError as error:
            refusal = f"--port {port}: {error.strerror}; pass another one, or 0 for any free one"
            raise SettingError(refusal) from None
        listener.listen()  # from here on the address can be opened
        port = listener.getsockname()[1]
        token = secrets.token_urlsafe(24)
        hosts = [f"{name}:{port}" for name in ("127.0.0.1", "localhost")]
        app = make_app(answers, token, hosts)
        address = f"http://127.0.0.1:{port}/?token={token}"
        click.echo(address)
        if browser:
            threading.Thread(target=webbrowser.open, args=[address], daemon=True).start()
        config = uvicorn.Config(
            app, log_level="error", access_log=False, lifespan="off", ws="none",
            proxy_headers=False, server_header=False,
        )  # fmt: skip
        server = threading.Thread(
            target=uvicorn.Server(config).run, kwargs={"sockets": [listener]}, daemon=True
        )
        with reporting_to(SilentReporter()):  # what is noted about a request is not for here
            server.start()
            try:
                while server.is_alive():  # on Windows Ctrl-C ends no wait without a limit
                    server.join(1)
            except KeyboardInterrupt:  # `cli.run` does not wait for answers that are being made
                raise SystemExit(130) from None
