"""The server of ``firth explore``: every answer, and who gets none."""

import json
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import numpy as np
import pytest

from firth.corpora.common.errors import SettingError
from firth.corpora.encoding.build import open_or_build
from firth.corpora.store.collocates import collocates
from firth.corpora.store.concordance import concordance
from firth.corpora.store.corpus import Corpus
from firth.embed.explore import maps
from firth.embed.explore import space as space_module
from firth.embed.explore.differ import differ
from firth.embed.explore.maps import plane, umap_places
from firth.embed.explore.space import Resampling, Space, compare_spaces
from firth.embed.explore.why import why_near
from firth.embed.query.word_map import map_words
from firth.embed.resampling.intervals import neighbor_intervals
from firth.embed.svd.train import SvdConfig, train_svd
from firth.embed.vectors.neighbors import nearest
from firth.embed.vectors.word_vectors import WordVectors
from firth.embed.word2vec.config import SkipGramConfig
from firth.embed.word2vec.train import train_skipgram
from tests.corpora.store.searched import searched_corpus
from tests.embed.themed_run import themed_run
from tests.pretrain.small_run import small_run

pytest.importorskip("starlette")
from starlette.testclient import TestClient

from firth.embed.explore.server import POLICY, Answers, make_app
from tests.calls import refusal

ROOT = Path(__file__).parents[3]
TOKEN = "secret"
ORIGIN = "http://127.0.0.1:4321"
HOSTS = ["127.0.0.1:4321", "localhost:4321"]


def client_of(*spaces, corpus=None, token=TOKEN):
    """Return a browser of the page of some runs."""
    app = make_app(Answers(spaces, corpus), TOKEN, HOSTS)
    return TestClient(app, base_url=ORIGIN, headers={b"x-firth-token": token.encode()})


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Return a corpus of a dozen words."""
    return searched_corpus(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="module")
def runs(corpus, tmp_path_factory):
    """Return a run of SVD, one of skip-gram and a masked LM."""
    folder = tmp_path_factory.mktemp("runs")
    train_svd(corpus, SvdConfig(dim=5), folder / "svd")
    config = SkipGramConfig(dim=8, epochs=20, subsample=0, negatives=1, threads=1)
    train_skipgram(corpus, config, folder / "sg")
    return [folder / "svd", folder / "sg", small_run(folder, name="mlm")]


@pytest.fixture(scope="module")
def client(corpus, runs):
    """Return a browser of all runs."""
    own = [None, None, open_or_build(runs[2].parent / "text.txt").path]
    spaces = [Space(run, 1000, of) for run, of in zip(runs, own, strict=True)]
    return client_of(*spaces, corpus=corpus)


def get(client, path, **parameters):
    """Return the JSON of an answer."""
    found = client.get(path, params=parameters or None)
    assert found.status_code == 200, found.text
    return found.json()


def refused(client, path, status, **parameters):
    """Return the message of a refusal."""
    found = client.get(path, params=parameters or None)
    assert found.status_code == status, found.text
    message = found.json()["error"]
    assert "\n" not in message
    return message


@pytest.mark.slow
def test_info_lists_runs_and_corpus(client, corpus):
    found = get(client, "/api/info")
    assert [run["name"] for run in found["runs"]] == ["svd", "sg", "mlm"]
    assert [run["method"] for run in found["runs"]] == ["svd", "skipgram", "mlm"]
    assert [run["encoder"] for run in found["runs"]] == [False, False, True]
    fields = ["title", "year"]
    assert found["corpus"] == {"name": "corpus", "tokens": corpus.n_tokens, "fields": fields}
    assert [run["corpus"] for run in found["runs"][:2]] == ["corpus", "corpus"]


def test_words_are_most_frequent_first_and_at_most_max_words(client, runs):
    found = get(client, "/api/words/0")
    vectors = WordVectors.open(runs[0])
    assert sorted(found["words"]) == sorted(vectors.vocabulary)
    assert found["counts"] == sorted(vectors.counts.tolist(), reverse=True)
    few = get(client_of(Space(runs[0], 3)), "/api/words/0")
    assert few["words"] == found["words"][:3]


def test_the_map_has_the_places_of_firth_map_in_another_scale(client, runs):
    words = get(client, "/api/words/0")["words"]
    found = client.get("/api/map/0")
    places = np.frombuffer(found.content, "<f4").reshape(-1, 2)
    exact = map_words(WordVectors.open(runs[0]), words).places
    ratio = exact / places
    # the ratio is one number, but for float32 and coordinates near zero
    assert np.allclose(places * np.median(ratio), exact, atol=1e-5)
    assert (abs(places).max(axis=1) <= 1).mean() >= 0.9  # 99.5 % of hardly a dozen words


def test_a_map_that_takes_long_is_made_in_the_background(client, monkeypatch):
    told, go_on = threading.Event(), threading.Event()

    def slow(units, tell):
        tell(1, 4)
        told.set()
        assert go_on.wait(60)
        if not failures:
            return units[:, :2]
        raise failures.pop()

    failures = [SettingError("no memory")]
    monkeypatch.setattr(space_module, "umap_places", slow)
    assert get(client, "/api/map/0", method="umap") in ({"percent": 0}, {"percent": 25})
    assert told.wait(60)
    assert get(client, "/api/map/0", method="umap") == {"percent": 25}
    go_on.set()

    def finished():
        while (found := client.get("/api/map/0", params={"method": "umap"})).text.startswith('{"p'):
            time.sleep(0.01)
        return found

    assert finished().json() == {"error": "no memory"}  # and the next request tries again
    n_words = len(get(client, "/api/words/0")["words"])
    assert np.frombuffer(finished().content, "<f4").shape == (2 * n_words,)


@pytest.mark.slow
def test_umap_puts_groups_apart_and_is_kept(tmp_path, monkeypatch):
    monkeypatch.setattr("numba.config.DISABLE_JIT", True)  # UMAP compiles for ten seconds
    pytest.importorskip("umap")
    monkeypatch.setenv("FIRTH_CACHE", str(tmp_path))
    rng = np.random.default_rng(1)
    groups = np.repeat(np.eye(3, 8), 10, axis=0) + rng.normal(0, 0.05, (30, 8))
    units = (groups / np.linalg.norm(groups, axis=1, keepdims=True)).astype(np.float32)
    told = []
    places = umap_places(units, lambda done, total: told.append((done, total)))
    assert told[-1] == (500, 500)
    centers = places.reshape(3, 10, 2).mean(axis=1)
    spread = abs(places.reshape(3, 10, 2) - centers[:, None]).max()
    assert (
        min(np.linalg.norm(centers[a] - centers[b]) for a, b in ((0, 1), (0, 2), (1, 2))) > spread
    )
    monkeypatch.setattr(maps, "_fit_umap", None)  # not called again
    assert np.array_equal(umap_places(units, print), places)
    [file] = (tmp_path / "maps").iterdir()
    np.save(file, places[:9])  # another number of words
    monkeypatch.setattr(maps, "_fit_umap", lambda units, tell: units[:, :2])
    assert umap_places(units, print).shape == (30, 2)
    with pytest.raises(SettingError, match="more than 15 words, got 15"):
        umap_places(units[:15], print)


def test_the_map_of_one_dimension_or_equal_vectors_is_finite():
    for units in (np.array([[1.0], [-1.0], [1.0]]), np.ones((4, 1)), np.eye(3)[[0, 0, 0]]):
        places = plane(units.astype(np.float32))
        assert places.shape == (len(units), 2)
        assert np.isfinite(places).all()


def test_clusters_are_a_number_for_each_word(client):
    found = get(client, "/api/clusters/0", k=3)["clusters"]
    assert len(found) == len(get(client, "/api/words/0")["words"])
    assert set(found) == {0, 1, 2}


def test_neighbors_are_those_of_firth_neighbors(client, runs):
    found = get(client, "/api/neighbors/0", word="Sea", k=4)
    vectors = WordVectors.open(runs[0])
    [expected] = nearest(vectors, "sea", 4)
    assert found["word"] == "sea"
    assert found["count"] == vectors.counts[vectors.row("sea")]
    assert [(each["word"], each["cosine"]) for each in found["neighbors"]] == list(expected)


def test_intervals_are_those_of_firth_neighbors_when_the_text_is_prepared(tmp_path, monkeypatch):
    space = Space(themed_run(tmp_path), 100)
    client = client_of(space)
    asked, go_on = threading.Event(), threading.Event()

    def held(vectors, words, *rest, **options):
        if not words:
            asked.set()
            assert go_on.wait(60)
        return neighbor_intervals(vectors, words, *rest, **options)

    monkeypatch.setattr(space_module, "neighbor_intervals", held)
    question = "/api/intervals/0?word=Sea1&k=5"
    assert get(client, question) == {}
    assert asked.wait(60)
    assert len(get(client, "/api/neighbors/0?word=sea1&k=5")["neighbors"]) == 5
    assert get(client, question) == {}
    go_on.set()
    found = wait_for(client, question)
    [expected] = neighbor_intervals(space.path, "sea1", 5)
    stable = [each.pop("stable") for each in found["neighbors"]]
    assert found == expected.to_json()
    assert stable == [each.stable for each in expected.neighbors]


def wait_for(client, question, names=()):
    """Return the answer when it has some entries, or any."""
    while not (found := get(client, question)) or not set(names) <= set(found):
        time.sleep(0.01)
    return found


def test_a_run_without_intervals_says_why_in_one_line(client, runs, tmp_path):
    [reason] = wait_for(client, "/api/intervals/1?word=sea").values()
    assert reason.startswith(f"{runs[1]}: has no draws of its text; add --resamples 20 to the ")
    run = themed_run(tmp_path)
    shutil.rmtree(tmp_path / "corpus")
    [reason] = wait_for(client_of(Space(run, 100)), "/api/intervals/0?word=sea1").values()
    assert str(tmp_path / "corpus") in reason
    assert "\n" not in reason


def test_concordance_and_collocates_are_those_of_the_corpus(client, corpus):
    found = get(client, "/api/concordance", query="sea", n=3, sort="right")
    assert len(found["lines"]) == 3
    assert found["found"] == corpus.vocabulary.counts[corpus.vocabulary.id_of("sea")]
    assert {"document", "left", "found", "right", "fields"} <= set(found["lines"][0])
    rows = get(client, "/api/collocates", query="sea", n=2)["rows"]
    assert len(rows) == 2
    assert {"word", "near", "other", "score", "log_odds_ratio", "low", "high"} == set(rows[0])


def test_lines_and_collocates_are_those_of_the_documents_with_a_field(client, corpus):
    title = concordance(corpus, "sea", lines=1).lines[0].fields["title"]
    found = get(client, "/api/concordance", query="sea", documents=f"title={title}")
    assert found["found"] == concordance(corpus, "sea", documents=f"title={title}").n_found
    assert {line["fields"]["title"] for line in found["lines"]} == {title}
    assert found["found"] < get(client, "/api/concordance", query="sea", documents="")["found"]
    rows = get(client, "/api/collocates", query="sea", documents=f"title={title}")["rows"]
    expected = collocates(corpus, "sea", versus_documents=f"title={title}").rows
    assert [each["word"] for each in rows] == [each.word for each in expected]


@pytest.mark.slow
def test_why_is_that_of_firth_why(client, runs):
    for n, run in enumerate(runs[:2]):
        for _ in range(2):  # made, and kept
            found = get(client, f"/api/why/{n}", a="sea", b="ship")
            expected = why_near(run, "sea", "ship")
            assert found["by_contexts"] == pytest.approx(expected.by_contexts)
            assert [each["context"] for each in found["contexts"]] == [
                each.context for each in expected.contexts
            ]
    assert get(client, "/api/why/2", a="queen", b="king")["measure"] == "probability when masked"


def test_differ_sorts_the_words_of_two_runs(runs, tmp_path):
    rng = np.random.default_rng(2)
    words = [f"w{n}" for n in range(40)]
    for name in "ab":
        (tmp_path / name).mkdir()
        WordVectors(words, rng.normal(size=(40, 5)).astype(np.float32)).write(tmp_path / name)
    client = client_of(Space(tmp_path / "a", 100), Space(tmp_path / "b", 100))
    found = get(client, "/api/differ", a=0, b=1)["words"]
    distances = [each["distance"] for each in found]
    assert distances == sorted(distances, reverse=True)
    assert len(found) == 40
    assert set(found[0]["only_a"]) - set(found[0]["only_b"])
    assert "is compared with itself" in refused(client, "/api/differ", 400, a=1, b=1)
    last = found[-1]["word"]
    assert get(client, "/api/differ", a=0, b=1, word=last)["words"] == [found[-1], *found]
    why_not = wait_for(client, "/api/differ?a=0&b=1&chance=1", ["words"])["no_chance"]
    assert why_not == "a: does not say what text it was trained on"


def test_chance_is_that_of_firth_differ_and_is_measured_in_the_background(tmp_path, monkeypatch):
    run = themed_run(tmp_path)
    config = SvdConfig(dim=6, window=3, min_count=1, threads=1, device="cpu", subsample=0, seed=2)
    train_svd(Corpus.open(tmp_path / "corpus"), config, tmp_path / "other")
    spaces = [Space(path, 100) for path in (run, tmp_path / "other")]
    monkeypatch.setattr(space_module, "differ", partial(differ, k=5, permutations=5))
    found = wait_for(client_of(*spaces), "/api/differ?a=0&b=1&chance=1&word=rare", ["words"])
    expected = compare_spaces(*spaces, reporter=(reporter := Resampling()))
    assert reporter.percent == 100
    assert found["no_chance"] is None
    assert found["n"] == expected.n_shared
    assert found["words"].pop(0)["word"] == "rare"
    shown = [[each[name] for name in ("word", "p", "q", "chance")] for each in found["words"]]
    assert shown == [[each.word, each.p, each.q, each.chance] for each in expected.words]


def test_an_encoder_answers_words_in_context_masks_and_attention(client):
    [first, second] = get(client, "/api/context/2", text="he [saw] a [saw]", k=2)["answers"]
    assert (first["word"], len(first["neighbors"])) == ("saw", 2)
    assert first["neighbors"][0].keys() == {"word", "cosine"}
    assert second["neighbors"]
    [mask] = get(client, "/api/fill/2", text="the [MASK] saw", k=3)["predictions"]
    assert len(mask) == 3
    found = get(client, "/api/attention/2", text="the king saw")
    weights = np.array(found["weights"])
    assert weights.shape == (2, 2, len(found["pieces"]), len(found["pieces"]))
    assert np.allclose(weights.sum(axis=-1), 1, atol=1e-2)


def test_attention_of_many_pieces_is_refused_before_it_fills_the_memory(client, monkeypatch):
    monkeypatch.setattr(space_module, "_MOST_PIECES", 3)
    message = refused(client, "/api/attention/2", 400, text="the king saw the queen")
    assert "too many for a table of attention, which shows 3; use a shorter sentence" in message


def answered_meanwhile(client, waiting_for, path, *others):
    """Hold a question back, and return the answer to another one."""
    asked, go_on = threading.Event(), threading.Event()

    def slow(*_, **__):
        asked.set()
        assert go_on.wait(60)
        raise SettingError("late")

    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(1) as pool:
        patch.setattr(waiting_for, slow)
        waiting = pool.submit(refused, client, path, 400)
        assert asked.wait(60)
        found = get(client, *others)
        go_on.set()
        assert waiting.result() == "late"
    return found


def test_quick_answers_do_not_wait_for_slow_ones(client, runs):
    held = "firth.embed.explore.server.collocates", "/api/collocates?query=sea"
    assert answered_meanwhile(client, *held, "/api/concordance?query=sea&n=3")["lines"]
    held = "firth.embed.explore.why.open_encoder", "/api/context/0?text=a+[king]"
    fresh = client_of(Space(runs[2], 100))
    assert answered_meanwhile(fresh, *held, "/api/neighbors/0?word=king")["neighbors"]


def test_only_who_knows_the_token_gets_an_answer(client, runs):
    space = Space(runs[0], 10)
    for token in ("", "wrong", "sécret"):
        stranger = client_of(space, token=token)
        for path in ("/", "/api/info", "/api/neighbors/0?word=sea", "/api/nothing"):
            assert "wrong token" in refused(stranger, path, 403)
        assert stranger.get("/page.js").status_code == 200
        assert stranger.get("/", params={"token": TOKEN}).status_code == 200
        assert stranger.get("/api/info", params={"token": TOKEN}).status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "evil.example:4321"])
def test_other_hosts_are_refused(client, host):
    for path in ("/", "/page.js", "/api/info"):
        found = client.get(path, headers={"host": host}, params={"token": TOKEN})
        assert found.status_code == 403
        assert "wrong host" in found.json()["error"]
    assert client.get("/api/info", headers={"host": "localhost:4321"}).status_code == 200


def test_every_response_has_the_headers(client):
    paths = [
        "/", "/page.css", "/page.js", "/api/info", "/api/map/0", "/api/map/9", "/nothing",
        "/api/neighbors/0?word=unseen", "/page/../server.py", "/../../cli.py",
    ]  # fmt: skip
    for path in paths:
        for headers in ({}, {"host": "evil.example"}, {"X-Firth-Token": "wrong"}):
            found = client.get(path, headers=headers).headers
            assert found["content-security-policy"] == POLICY
            assert found["x-content-type-options"] == "nosniff"
            assert found["referrer-policy"] == "no-referrer"
            assert found["cache-control"] == "no-store"
            assert found["cross-origin-resource-policy"] == "same-origin"
            assert not [name for name in found if name.startswith("access-control")]
    assert "unsafe" not in POLICY
    assert client.post("/api/info").status_code == 405


def test_hostile_words_are_data(tmp_path):
    words = ["<script>alert(1)</script>", "x" * 5000, "\u2028", '"', "\\", "&amp;", "a/b?c#d%00"]
    WordVectors(words, np.eye(7, 4, dtype=np.float32) + 0.1).write(tmp_path)
    client = client_of(Space(tmp_path, 100))
    found = client.get("/api/words/0")
    assert found.headers["content-type"] == "application/json"
    assert found.json() == {"words": words, "counts": None}
    for word in words[:2] + words[3:]:
        answer = get(client, "/api/neighbors/0", word=word, k=6)
        assert answer["word"] == word
        assert {each["word"] for each in answer["neighbors"]} == set(words) - {word}
    message = refused(client, "/api/neighbors/0", 404, word="y" * 5000)
    assert len(message) < 600


REFUSED = [
    ("/api/neighbors/0", {"word": "unseen"}, 404, "no vector for 'unseen'"),
    ("/api/neighbors/0", {"word": "sea ship"}, 404, "2 words"),
    ("/api/neighbors/0", {}, 400, "the parameter word is missing"),
    ("/api/neighbors/0", {"word": "sea", "k": "0"}, 400, "k=0: expected a number from 1 to 1000"),
    ("/api/neighbors/0", {"word": "sea", "k": "9" * 99}, 400, "expected a number"),
    ("/api/neighbors/9", {"word": "sea"}, 400, "there is no run 9; runs are 0 to 2"),
    ("/api/neighbors/x", {"word": "sea"}, 404, "Not Found"),
    ("/api/map/0", {"method": "tsne"}, 400, "expected pca or umap"),
    ("/api/clusters/0", {"k": "51"}, 400, "expected a number from 2 to 50"),
    ("/api/why/0", {"a": "sea", "b": "unseen"}, 404, "no vector for 'unseen'"),
    ("/api/direction/0", {}, 400, "the parameter pairs is missing"),
    ("/api/direction/0", {"pairs": ", ;"}, 400, "'': expected two words"),
    ("/api/direction/0", {"pairs": "sea"}, 400, "'sea': expected two words, for example he she"),
    ("/api/direction/0", {"pairs": "sea ship, sea-unseen"}, 404, "no vector for 'unseen'"),
    ("/api/direction/0", {"pairs": "sea sea"}, 400, "a pair has two equal vectors"),
    ("/api/concordance", {"query": "unseen"}, 404, "does not contain 'unseen'"),
    ("/api/concordance", {"query": "*"}, 400, "expected a word or phrase"),
    ("/api/concordance", {"query": "sea", "sort": "up"}, 400, "--order up: expected one of text"),
    ("/api/concordance", {"query": "sea", "documents": "x=1"}, 400, "keeps no field 'x'"),
    ("/api/collocates", {"query": "q" * 20_000}, 400, "has more than 10,000 characters"),
    ("/api/context/0", {"text": "a [sea]"}, 400, "has only static vectors"),
    ("/api/context/2", {"text": "saw"}, 400, "no word in brackets"),
    ("/api/fill/0", {"text": "a [MASK]"}, 400, "has only static vectors"),
    ("/api/fill/2", {"text": "saw"}, 400, "[MASK]"),
    ("/api/attention/1", {"text": "sea"}, 400, "has only static vectors"),
    ("/api/attention/2", {"text": "saw " * 99}, 400, "pieces"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "parameters", "status", "message"), REFUSED)
def test_bad_questions_are_refused_in_one_line(client, path, parameters, status, message):
    assert message in refused(client, path, status, **parameters)


def test_without_a_corpus_there_are_no_sentences(runs, tmp_path):
    WordVectors(["a", "b", "c"], np.eye(3, dtype=np.float32)).write(tmp_path)
    client = client_of(Space(tmp_path, 10))
    found = get(client, "/api/info")
    assert found["corpus"] is None
    assert "no corpus is open; pass --corpus" in refused(client, "/api/concordance", 400, query="a")
    assert "has no contexts to show" in refused(client, "/api/why/0", 400, a="a", b="b")


def test_a_corpus_that_is_deleted_while_open_is_refused_in_one_line(tmp_path):
    corpus = searched_corpus(tmp_path)
    run = tmp_path / "run"
    train_svd(corpus, SvdConfig(dim=5), run)
    client = client_of(Space(run, 100), corpus=corpus)
    shutil.rmtree(corpus.path)
    for path, parameters in (
        ("/api/concordance", {"query": "sea"}),
        ("/api/collocates", {"query": "sea"}),
        ("/api/why/0", {"a": "sea", "b": "ship"}),
    ):
        assert str(corpus.path) in refused(client, path, 400, **parameters)
    assert get(client, "/api/neighbors/0", word="sea")["neighbors"]


def test_many_questions_at_once_have_the_answers_of_one(client):
    paths = [
        "/api/neighbors/0?word=sea", "/api/map/1", "/api/why/0?a=sea&b=ship", "/api/differ?a=0&b=1",
        "/api/fill/2?text=the+[MASK]", "/api/concordance?query=sea", "/api/clusters/1?k=4",
    ]  # fmt: skip
    expected = [client.get(path).content for path in paths] * 3
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda path: client.get(path).content, paths * 3))
    assert found == expected


def test_the_corpus_of_another_run_is_refused(runs, corpus, tmp_path):
    other = searched_corpus(tmp_path, seed=2).path
    assert refusal("explore", runs[0], "--corpus", other, "--html", tmp_path / "page.html") == (
        f"{other}: is not the corpus of {runs[0]} (checksum {corpus.fingerprint}); pass that one"
    )


@pytest.mark.process
def test_the_command_serves_until_it_is_interrupted(runs):
    command = [sys.executable, "cli.py", "explore", str(runs[0]), str(runs[1]), "--no-browser"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=ROOT, **pipes) as server:
        try:
            address = server.stdout.readline().strip()
            origin, token = address.split("/?token=")
            assert urlopen(address).status == 200
            with urlopen(f"{origin}/api/info?token={token}") as answer:
                info = json.load(answer)
            assert [run["name"] for run in info["runs"]] == ["svd", "sg"]
            assert info["corpus"]["name"] == "corpus"  # that of the first run
            with pytest.raises(HTTPError, match="403"):
                urlopen(f"{origin}/api/info")
        finally:
            server.send_signal(signal.SIGINT)
            _, errors = server.communicate(timeout=30)
    assert (server.returncode, errors) == (130, "")


@pytest.mark.process
def test_a_package_that_two_threads_cannot_import_at_once_is_there_before_them():
    script = "import sys; from firth.embed.explore.server import Answers; Answers([], None); "
    script += "assert 'tokenizers' in sys.modules"
    subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=True)


def test_what_the_command_lacks_is_named_with_a_remedy(runs, monkeypatch):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        refused = refusal("explore", runs[0], "--port", port)
    assert f"--port {port}: Address already in use; pass another one" in refused
    monkeypatch.setattr(maps, "find_spec", lambda name: None)
    assert "pip install 'firth[umap]'" in refusal("explore", runs[0], "--map", "umap")
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    remedy = "needs the packages starlette and uvicorn; pip install 'firth[explore]'"
    assert refusal("explore", runs[0]) == f"the server {remedy}"
