"""The page of ``firth explore`` in a browser: what it shows against what the library answers."""

import csv
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pytest

from firth import cli
from firth.corpora.store.concordance import concordance
from firth.corpora.store.search import Search
from firth.embed.explore.space import Space
from firth.embed.explore.static_page import explore
from firth.embed.explore.why import why_near
from firth.embed.resampling.intervals import neighbor_intervals
from firth.embed.svd.train import SvdConfig, train_svd
from firth.embed.vectors.neighbors import nearest
from firth.embed.vectors.word_vectors import WordVectors
from tests.corpora.store.searched import searched_corpus
from tests.embed.themed_run import RARE, themed_run
from tests.pretrain.small_run import small_run

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("selenium")
from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.select import Select

from tests.calls import output

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
DRIVER = shutil.which("chromedriver")
pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="chromium or chromedriver is not on PATH"),
]

FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--window-size=1280,800",
)  # fmt: skip
PATIENCE = 60  # seconds; only a failure takes so long
HOSTILE = [
    "<img src=x onerror=hacked=1>", "</script><script>hacked=1</script>", "大海", "море",
    "x" * 400, 'a"b,c', "=1+1", "\u202eright", "&lt;", "' onclick='hacked=1",
]  # fmt: skip

COMMON = [f"word{n}" for n in range(60)]  # of two vectors files


class Page:
    """The page, as somebody sees it."""

    def __init__(self, driver):
        self.driver = driver

    def open(self, address):
        self.driver.get("about:blank")  # since another hash alone loads nothing
        self.driver.get(address)
        self.wait(lambda: self.all("figure") and not self.text("#message"))

    def wait(self, condition):
        """Return what a condition finds, when it is true."""
        end = time.monotonic() + PATIENCE
        while not (found := condition()):
            shown = self.text("body") if time.monotonic() > end else None
            assert shown is None, f"waited in vain; the page shows {shown}"
            time.sleep(0.05)
        return found

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector):
        return self.wait(lambda: self.all(selector))[0]

    def texts(self, selector):
        """Return all texts of a list, at one moment, shown or not."""
        return self.run(
            "return [...document.querySelectorAll(arguments[0])].map(e => e.textContent)", selector
        )

    def text(self, selector):
        return " ".join(self.texts(selector))

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def click(self, selector):
        self.one(selector).click()

    def type(self, selector, text):
        self.one(selector).clear()
        self.one(selector).send_keys(text)

    def choose(self, selector, value):
        Select(self.one(selector)).select_by_value(value)

    def select(self, word):
        """Select a word by its whole text and wait for its neighbors."""
        self.type("#search", word)
        self.one("#search").send_keys(Keys.ESCAPE, Keys.ENTER)
        self.wait(lambda: self.texts("#near h2") == [word])

    def hash(self):
        return self.run("return location.hash")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Return a corpus of a dozen words."""
    return searched_corpus(tmp_path_factory.mktemp("page"))


@pytest.fixture(scope="module")
def runs(corpus, tmp_path_factory):
    """Return runs of SVD and a masked LM, vectors files, hostile words, and a run on themes."""
    folder = tmp_path_factory.mktemp("runs")
    train_svd(corpus, SvdConfig(dim=5), folder / "svd")
    small_run(folder, name="mlm")
    words = {"one": COMMON, "two": COMMON[::-1], "hostile": HOSTILE}
    rng = np.random.default_rng(1)
    for name, each in words.items():
        (folder / name).mkdir()
        WordVectors(each, rng.normal(size=(len(each), 4)).astype(np.float32)).write(folder / name)
    return [*(folder / name for name in ("svd", "mlm", *words)), themed_run(folder)]


# with a map by UMAP that needs no compiler
SERVER = """
from firth import cli
from firth.embed.explore import space

space.umap_places = lambda units, tell: units[:, [1, 0]]
cli.run()
"""


def import_slow_packages(address):
    """Let the server import torch and scikit-learn while other tests run."""
    for path in ("api/fill/1?text=the+[MASK]&", "api/clusters/0?"):
        with urllib.request.urlopen(address.replace("?", path)) as answer:
            answer.read()


@pytest.fixture(scope="module")
def address(corpus, runs):
    """Return the address of a server of all runs."""
    words = ["explore", *map(str, runs), "--corpus", str(corpus.path), "--no-browser"]
    root = Path(cli.__file__).parents[1]
    paths = [str(root), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    with subprocess.Popen(
        [sys.executable, "-c", SERVER, *words],
        cwd=root, env=environment, stdout=subprocess.PIPE, text=True,
    ) as server:  # fmt: skip
        try:
            found = re.search(r"http://\S+", server.stdout.readline())[0]
            with ThreadPoolExecutor(1) as pool:
                pool.submit(import_slow_packages, found)
                yield found
        finally:
            server.terminate()


@pytest.fixture(scope="module")
def downloads(tmp_path_factory):
    """Return the folder of files that the page saves."""
    return tmp_path_factory.mktemp("downloads")


@pytest.fixture(scope="module")
def driver(downloads, tmp_path_factory):
    """Return a browser."""
    options = Options()
    options.binary_location = CHROMIUM
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    options.add_experimental_option("prefs", {"download.default_directory": str(downloads)})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    yield driver
    driver.quit()


def errors(driver):
    """Return the errors of the console since the last time."""
    return [each["message"] for each in driver.get_log("browser") if each["level"] == "SEVERE"]


@pytest.fixture
def page(driver, address):
    """Return the page with the first run; afterwards the console must hold no error."""
    page = Page(driver)
    page.open(address)
    yield page
    assert errors(driver) == []


def neighbors_of(run, word):
    """Return the neighbors of a word with cosines, as the page writes them."""
    [found] = nearest(WordVectors.open(run), [word], 10)
    return [f"{near}{cosine:.3f}" for near, cosine in found]


def shown_neighbors(page, column=1):
    items = page.texts(f"#near .both > div:nth-child({column}) li")
    return [re.sub(r"why.*", "", each) for each in items]


def rows_of(path):
    """Return the rows of a saved table."""
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))


def test_search_lists_beginnings_first_and_a_click_on_a_neighbor_selects_it(page, runs):
    words = list(WordVectors.open(runs[0]).vocabulary)
    page.type("#search", "ea")
    page.wait(lambda: set(page.texts("#matches bdi")) == {w for w in words if "ea" in w})
    page.type("#search", "SE")
    page.wait(lambda: set(page.texts("#matches bdi")) == {"sea", "seal"})
    page.type("#search", "o")
    page.wait(lambda: len(page.texts("#matches bdi")) > 2)
    found = page.texts("#matches bdi")
    assert set(found) == {word for word in words if "o" in word}
    begins = [word.startswith("o") for word in found]
    assert begins == sorted(begins, reverse=True)
    page.one("#search").send_keys(Keys.DOWN, Keys.ENTER)
    page.wait(lambda: page.texts("#near h2") == [found[1]])
    assert shown_neighbors(page) == neighbors_of(runs[0], found[1])
    assert page.text("#selected").startswith(found[1])
    near = page.one("#near .words .word")
    name = near.text
    near.click()
    page.wait(lambda: page.texts("#near h2") == [name])
    assert shown_neighbors(page) == neighbors_of(runs[0], name)


def test_enter_takes_the_word_itself_before_more_frequent_ones_that_begin_with_it(page):
    page.choose("#run", "3")  # word19 to word10 are more frequent
    page.wait(lambda: "two" in page.text("figcaption"))
    page.type("#search", "word1")
    page.wait(lambda: page.texts("#matches bdi")[:2] == ["word1", "word19"])
    page.one("#search").send_keys(Keys.ENTER)
    page.wait(lambda: page.texts("#near h2") == ["word1"])


def test_the_focus_stays_in_the_panel_when_what_had_it_goes_away(page):
    focus = "return document.activeElement.id"
    page.select("sea")
    near = page.one("#near .words .word")
    word = near.text
    near.send_keys(Keys.ENTER)
    page.wait(lambda: page.texts("#near h2") == [word])
    assert page.run(focus) == "near"
    page.one("#near .words .small").send_keys(Keys.ENTER)
    assert page.run(focus) == "tab-why"
    page.click("#tab-text")
    page.wait(lambda: page.all("#collocates .word"))
    page.run("showTab('group'); chooseGroup(['sea'])")
    page.one("#group-answer .word").send_keys(Keys.ENTER)
    page.wait(lambda: page.texts("#near h2") == ["sea"])
    assert page.run(focus) == "tab-near"


def test_only_the_latest_question_is_asked_when_an_answer_takes_long(page):
    asked = page.run(
        "let finish; window.asked = []; const target = element('why-answer');"
        "const ask = (n) => fill(target, () => { asked.push(n); return n ? Promise.resolve([])"
        " : new Promise((resolve) => { finish = resolve; }); });"
        "ask(0); await null; ask(1); ask(2); const last = ask(3);"
        "finish([]); await last; return asked"
    )
    assert asked == [0, 3]


def test_what_was_shown_stays_when_another_run_cannot_be(page):
    page.select("sea")
    page.run("state.source.map = () => Promise.reject(new Error('no map'))")
    page.choose("#run", "2")
    page.wait(lambda: page.text("#message.error") == "no map")
    assert page.run("return element('run').value") == "0"
    assert page.texts("#near h2") == ["sea"]
    page.choose("#color", "frequency")
    page.run(
        "state.source.clusters = () => new Promise(() => {}); delete state.views[0].data.clusters"
    )
    page.choose("#color", "cluster")
    page.wait(lambda: page.text("#message") == "Making clusters …")
    assert page.texts("#legend li")  # of the frequency until then


def test_a_click_on_a_point_selects_its_word(page):
    word, x, y = page.run(
        "const [view] = state.views, at = view.screen(2);"
        "const box = view.overlay.getBoundingClientRect();"
        "return [view.words[2], at[0] - box.width / 2, at[1] - box.height / 2]"
    )
    move = ActionChains(page.driver, duration=0)
    move.move_to_element_with_offset(page.one(".labels"), round(x), round(y)).click().perform()
    page.wait(lambda: page.texts("#near h2") == [word])


def test_why_shows_contexts_with_shares_and_text(page, runs):
    page.select("sea")
    near = page.one("#near .words .word").text
    page.click("#near .words .small")
    found = why_near(runs[0], "sea", near)
    page.wait(
        lambda: page.texts("#why-answer .share b") == [each.context for each in found.contexts]
    )
    shares = [f"{100 * each.share:.1f}%" for each in found.contexts]
    assert page.texts("#why-answer .share span") == shares
    assert page.texts("#why-answer .quote b")[0] in ("sea", near)
    contexts = {each.context for each in found.contexts}
    assert set(page.texts("#why-answer .quote u")) <= contexts
    assert page.all("#why-answer .quote u")
    page.type("#why-b", "york")
    page.click("#why-form button")
    page.wait(lambda: page.text("#why-answer h2") == "sea and york")
    page.wait(lambda: "why-b=york" in page.hash())
    page.driver.refresh()
    page.wait(lambda: page.text("#why-answer h2") == "sea and york")


def test_text_lists_occurrences_and_collocates(page, corpus):
    page.select("ship")
    page.click("#tab-text")
    n_found = len(Search(corpus).find("ship"))
    page.wait(lambda: page.text("#lines h3").startswith(f"{n_found} occurrences"))
    assert set(page.texts("#lines summary b")) == {"ship"}
    page.wait(lambda: page.all("#collocates tbody tr"))
    page.choose("#sort", "right")
    page.wait(lambda: page.all("#lines li"))
    page.click("#lines .more")
    page.wait(lambda: len(page.all("#lines li")) == n_found)
    assert "title: T" in page.text("#lines .note")
    assert f"of {corpus.n_tokens:,} tokens in corpus" in page.text("#lines .hint")
    page.type("#query", "sea")
    page.click("#text-form button")
    page.wait(lambda: set(page.texts("#lines summary b")) == {"sea"})
    page.click("#tab-near")
    page.click("#tab-text")  # has the query still, not the word that is selected
    assert set(page.texts("#lines summary b")) == {"sea"}
    page.choose("#sort", "left")
    page.wait(lambda: "query=sea&sort=left" in page.hash())
    page.driver.refresh()
    page.wait(lambda: set(page.texts("#lines summary b")) == {"sea"})
    assert page.run("return element('query').value + element('sort').value") == "sealeft"
    page.wait(lambda: page.texts("#near h2") == ["ship"])


def test_an_area_makes_a_group_that_is_saved_as_a_table(page, runs, downloads):
    page.click("#area")
    box = page.one(".labels").size
    right, down = box["width"] // 2 - 2, box["height"] // 2 - 2
    drag = ActionChains(page.driver, duration=0)
    drag.move_to_element_with_offset(page.one(".labels"), -right, -down).click_and_hold()
    for x, y in ((right, -down), (right, down), (-right, down)):
        drag.move_to_element_with_offset(page.one(".labels"), x, y)
    drag.release().perform()
    page.wait(lambda: page.texts("#group-answer li"))
    group = page.texts("#group-answer li")
    visible = page.run("return state.views[0].visible().map(row => state.views[0].words[row])")
    assert group == visible
    assert len(group) > 2
    page.type("#group-words", "SEA Ship")
    page.click("#group-form button")
    page.wait(lambda: page.texts("#group-answer li") == ["sea", "ship"])
    page.type("#group-words", "sea, ship whale")
    page.click("#group-form button")
    page.wait(lambda: page.texts("#group-answer .failed") == ["Not on the map: whale"])
    page.click("#save-csv")
    page.wait(lambda: (downloads / "firth-svd.csv").exists())
    rows = rows_of(downloads / "firth-svd.csv")
    vectors = WordVectors.open(runs[0])
    counts = dict(zip(vectors.vocabulary, vectors.counts.tolist(), strict=True))
    assert {row["word"]: int(row["count"]) for row in rows} == {
        w: counts[w] for w in ("sea", "ship")
    }
    assert all(abs(float(row[axis])) < 3 for row in rows for axis in "xy")
    page.click("#save-svg")
    page.wait(lambda: (downloads / "firth-svd.svg").exists())
    assert ">sea</text>" in (downloads / "firth-svd.svg").read_text(encoding="utf-8")


def test_a_straight_drag_makes_a_rectangle(page):
    page.click("#area")
    box = page.one(".labels").size
    right, down = box["width"] // 2 - 2, box["height"] // 2 - 2
    drag = ActionChains(page.driver, duration=0)
    drag.move_to_element_with_offset(page.one(".labels"), -right, -down).click_and_hold()
    drag.move_to_element_with_offset(page.one(".labels"), right, down).release().perform()
    page.wait(lambda: page.texts("#group-answer li"))
    visible = "return state.views[0].visible().map(row => state.views[0].words[row])"
    assert page.texts("#group-answer li") == page.run(visible)
    labels = page.run("return state.views[0].labels().map(each => state.views[0].words[each.row])")
    page.run("chooseGroup(['sea'])")
    page.wait(lambda: page.texts("#group-answer li") == ["sea"])
    assert len(labels) > 2
    assert set(page.run("return state.views[0].labels().map(each => each.row)")) >= {0, 1, 2}


def test_back_undoes_and_forward_does_again(page):
    assert page.run("return state.color") == "cluster"
    words = page.texts("#near button.word")
    page.select("sea")
    page.wait(lambda: "word=sea" in page.hash())
    page.one(".labels").send_keys("+")
    page.wait(lambda: "view1=1.4" in page.hash())  # moving the map is no step of its own
    page.run("chooseGroup(['ship', 'seal'])")
    page.wait(lambda: "group=ship" in page.hash())
    page.driver.back()
    page.wait(lambda: page.texts("#near h2") == ["sea"])
    page.wait(
        lambda: (
            page.run("return [state.tab, state.color, state.group.size]") == ["near", "cluster", 0]
        )
    )
    page.driver.back()
    page.wait(lambda: not page.texts("#near h2") and page.texts("#near button.word") == words)
    page.driver.forward()
    page.wait(lambda: page.texts("#near h2") == ["sea"])
    page.driver.forward()
    page.wait(lambda: page.texts("#group-answer li") == ["ship", "seal"])


def test_a_suggested_spelling_can_be_clicked(page):
    top = "return state.views[0].overlay.getBoundingClientRect().top"
    before = page.run(top)
    page.type("#search", "shipp")
    page.one("#search").send_keys(Keys.ENTER)
    page.wait(lambda: page.text("#message.error"))
    assert page.run(top) == before  # the message is over the map
    page.click("#near .failed button")
    page.wait(lambda: page.texts("#near h2") == ["ship"])
    page.click("#tab-text")
    page.type("#query", "the shipp")
    page.click("#text-form button")
    page.click("#lines .failed button")
    page.wait(lambda: page.run("return element('query').value") == "the ship")
    page.wait(lambda: set(page.texts("#lines summary b")) == {"the ship"})
    assert all("404" in each for each in errors(page.driver))


def test_a_spelling_can_be_clicked_below_the_run_that_lacks_the_word(page):
    page.run(
        "state.source.neighbors = (run, word) => word === 'shipp'"
        " ? (run === 0 ? Promise.reject(Error(\"no vector for 'shipp'; did you mean 'ship'?\"))"
        " : Promise.resolve({ word, count: 1, neighbors: [{ word: 'sea', cosine: 0.5 }] }))"
        " : Promise.resolve({ word, count: 1, neighbors: [] })"
    )
    page.choose("#other", "1")
    page.wait(lambda: page.run("return state.views.length") == 2)
    page.run("select('shipp')")
    page.wait(lambda: page.texts("#near .failed button") == ["ship"])
    page.click("#near .failed button")
    page.wait(lambda: page.texts("#near h2") == ["ship"])


def test_the_corpus_is_named_and_its_documents_are_filtered_by_fields(page, corpus):
    assert page.driver.title.startswith("corpus")
    assert "corpus" in page.text("#corpora")
    page.select("sea")
    page.click("#tab-text")
    page.wait(lambda: page.all("#lines summary"))
    sources = [line.citation for line in concordance(corpus, "sea", lines=20).lines]
    assert page.texts("#lines summary .source") == sources
    field = next(each for each in page.texts("#lines .small") if each.startswith("year"))
    page.click("#lines summary")
    script = "buttons.find((each) => each.textContent === arguments[0]).click()"
    page.run(f"const buttons = [...document.querySelectorAll('#lines .small')]; {script}", field)
    wanted = field.replace(": ", "=")
    n_found = concordance(corpus, "sea", documents=wanted).n_found
    page.wait(lambda: page.text("#lines h3").startswith(f"{n_found} occurrences"))
    assert page.text("#lines .hint") == f"in documents of corpus with {wanted}"
    page.wait(lambda: f"documents={wanted}" in unquote(page.hash()))


def test_words_lie_along_a_direction_and_left_out_pairs_are_checked(page, runs):
    page.click("#tab-direction")
    page.type("#direction-pairs", "sea ship, seal-the")
    page.click("#direction-form button")
    page.wait(lambda: page.all("#direction-answer .whiskers"))
    found = Space(runs[0], 1000).direction("sea ship, seal-the", [], 10)
    assert f"{found['right']} of 2 pairs that are left out" in page.text("#direction-answer .hint")
    listed = page.texts("#direction-answer button.word")
    assert sorted(listed) == sorted(each["word"] for each in found["words"])
    assert listed[0] == found["words"][0]["word"]
    page.type("#direction-words", "Seal, ship")
    page.click("#direction-form button")
    page.wait(lambda: set(page.texts("#direction-answer button.word")) == {"seal", "ship"})
    page.wait(lambda: "direction-words=Seal" in page.hash())
    page.driver.refresh()
    page.wait(lambda: set(page.texts("#direction-answer button.word")) == {"seal", "ship"})


def test_two_runs_share_the_selection_and_list_differences(page, runs):
    page.choose("#run", "2")
    page.choose("#other", "3")
    page.wait(lambda: page.texts("figcaption") and "two" in page.texts("figcaption")[-1])
    page.select("word7")
    shown = [shown_neighbors(page, column) for column in (1, 2)]
    assert shown == [neighbors_of(run, "word7") for run in runs[2:4]]
    page.click("#near .more")
    page.wait(lambda: len(shown_neighbors(page)) == 50)
    assert shown_neighbors(page)[:10] == neighbors_of(runs[2], "word7")
    selected = page.run("return state.views.map(view => view.words[view.selected])")
    assert selected == ["word7", "word7"]
    check_differences(page)
    assert page.texts("#differ ul .word") == ["word7"]
    page.click("#differ .more")
    reason = "No p: one: does not say what text it was trained on."
    page.wait(lambda: reason in page.texts("#differ .hint"))
    page.click("#differ ol .word")
    page.wait(lambda: page.texts("#near h2") == [page.texts("#differ ol .word")[0]])
    # the run that is chosen changes places with the one beside it, which is not offered twice
    page.choose("#run", "3")
    page.wait(lambda: page.run("return state.views.map((view) => view.run)") == [3, 2])
    others = page.run("return [...element('other').options].map((each) => each.value)")
    assert others == ["", "0", "1", "2", "4", "5"]
    page.run("state.differOf = null; state.source.differ = () => new Promise((r) => { late = r; })")
    page.click("#tab-differ")
    page.wait(lambda: page.run("return typeof late") == "function")
    page.choose("#other", "")
    page.wait(lambda: "Choose a second run" in page.text("#differ"))
    page.run("late([])")
    assert "Choose a second run" in page.text("#differ")


def check_differences(page):
    """Open the list of differences and check that it has all words in order."""
    page.click("#tab-differ")
    page.wait(lambda: page.all("#differ .word"))
    assert set(page.texts("#differ ol .word")) == set(COMMON)
    distances = [float(each) for each in page.texts("#differ ol .cosine")]
    assert distances == sorted(distances, reverse=True)
    assert "only near in two: word" in page.text("#differ ol .difference")
    selected = page.texts("#differ ul .word")
    assert selected in ([], [page.run("return state.word")])


def test_another_map_of_the_same_words(page):
    page.choose("#run", "2")
    page.wait(lambda: "one" in page.text("figcaption"))
    places = "return Array.from(state.views[0].places)"
    before = page.run(places)
    page.choose("#method", "umap")
    page.wait(lambda: page.run(places) != before and not page.text("#message"))
    page.wait(lambda: "map=umap" in page.hash())
    page.choose("#method", "pca")
    page.wait(lambda: page.run(places) == before)


def test_an_unknown_word_is_refused_in_plain_english(page):
    page.type("#search", "whale")
    page.one("#search").send_keys(Keys.ENTER)
    page.wait(lambda: "whale" in page.text("#near .failed"))
    assert "whale" in page.text("#message.error")
    assert all("404" in each for each in errors(page.driver))  # the browser's own line


def test_words_that_are_html_are_text(page, downloads):
    page.choose("#run", "4")
    page.wait(lambda: "hostile" in page.text("figcaption"))
    for word in HOSTILE:
        page.run("select(arguments[0])", word)
        page.wait(lambda word=word: page.texts("#near h2") == [word])
        assert set(page.texts("#near .word")) == {*HOSTILE} - {word}
    page.type("#search", "<")
    page.wait(lambda: len(page.all("#matches li")) == 2)
    assert page.run("return typeof hacked + document.images.length") == "undefined0"
    wide = page.run("return [document.documentElement.scrollWidth, innerWidth]")
    assert wide[0] <= wide[1]
    page.click("#save-csv")
    page.wait(lambda: (downloads / "firth-hostile.csv").exists())
    rows = rows_of(downloads / "firth-hostile.csv")
    assert {row["word"] for row in rows} <= set(HOSTILE)
    page.run("chooseGroup(arguments[0])", HOSTILE)
    page.wait(lambda: "group=море" in unquote(page.hash()))
    page.driver.refresh()
    page.wait(lambda: page.texts("#group-answer li") == HOSTILE)
    assert not page.all("#group-answer .failed")


def test_one_file_opens_from_disk_with_neighbors_and_differences(driver, runs, tmp_path):
    out = tmp_path / "page.html"
    output("explore", *runs[2:4], "--html", out)
    page = Page(driver)
    page.open(out.as_uri())
    page.select("word3")
    [expected] = nearest(WordVectors.open(runs[2]), ["word3"], 10)
    shown = [float(each[-4:]) for each in shown_neighbors(page)]
    assert shown == pytest.approx([each.score for each in expected], abs=0.0051)
    assert page.texts("#near .word")[:10] == [each.word for each in expected]
    assert len(page.all("figure")) == 2  # both at once
    assert "word" in page.text("#legend")  # the clusters
    check_differences(page)
    assert not page.one("#tab-why").is_displayed()
    assert errors(driver) == []


def test_a_cell_of_a_notebook_shows_the_page_in_which_back_undoes(driver, runs, tmp_path):
    cell = explore(runs[2], words=50, height=500)
    (tmp_path / "cell.html").write_text(f"<!doctype html>{cell._repr_html_()}", "utf-8")
    driver.get((tmp_path / "cell.html").as_uri())
    page = Page(driver)
    driver.switch_to.frame(page.one("iframe"))
    page.select("word3")
    page.wait(lambda: "word=word3" in page.hash())
    assert page.run("return innerHeight") == 500
    page.click("#near .word")
    page.wait(lambda: page.texts("#near h2") != ["word3"] and "word=word3&" not in page.hash())
    page.run("history.back()")
    page.wait(lambda: page.texts("#near h2") == ["word3"])
    driver.switch_to.default_content()
    assert errors(driver) == []


def test_the_address_restores_what_was_shown(page):
    page.choose("#color", "cluster")
    page.wait(lambda: "the" in page.text("#legend"))
    page.select("seal")
    page.one(".labels").send_keys("++", Keys.ARROW_RIGHT, "-")
    view = "return [state.word, state.color, state.views[0].zoom, state.views[0].x]"
    before = page.run(view)
    assert before[:2] == ["seal", "cluster"]
    assert before[2] == pytest.approx(1.4)
    assert before[3] > 0
    page.wait(lambda: "word=seal" in page.hash() and "view1=1.4%2C" in page.hash())
    page.driver.refresh()
    page.wait(lambda: page.texts("#near h2") == ["seal"])
    after = page.run(view)
    assert after[:2] == before[:2]
    assert after[2:] == pytest.approx(before[2:], rel=1e-4)


def test_neighbors_have_whiskers_where_the_run_has_intervals(page, runs):
    page.choose("#run", "5")
    page.wait(lambda: "run" in page.text("figcaption"))
    page.select("sea1")
    page.wait(lambda: page.all("#near .whiskers"))
    [found] = neighbor_intervals(runs[5], "sea1")
    sure = [each for each in found.neighbors if each.low is not None]
    titles = [each.get_attribute("title") for each in page.all("#near li .whiskers[role]")]
    shares = [float(title.split()[-2]) for title in titles]
    assert shares == pytest.approx([100 * each.share for each in sure], abs=0.51)
    intervals = [f"95 % interval {each.low:.3f} to {each.high:.3f}" for each in sure]
    assert [title.split(";")[0] for title in titles] == intervals
    assert len(page.all("#near li .dot")) == 10
    stable = [each.word for each in found.neighbors if each.stable]
    assert page.texts("#near .stable .word") == stable
    assert page.texts("#near .others .word") == [each.word for each in found.entrants]
    assert "other texts of as many documents" in page.text("#near .note")
    lines = page.run(
        "const box = (each) => each.getBoundingClientRect();"
        "return [...document.querySelectorAll('#near [role=img]')]"
        ".map((each) => [each, ...each.children].map((part) => [box(part).left, box(part).width]))"
    )
    ends = [each for near in sure for each in (near.low, near.high)]
    ends += [each.score for each in found.neighbors]
    low, high = min(ends), max(ends)
    for near, ((left, width), line, dot) in zip(sure, lines, strict=True):
        places = [
            left + width * (x - low) / (high - low) for x in (near.low, near.high, near.score)
        ]
        assert [line[0], line[0] + line[1], dot[0] + dot[1] / 2] == pytest.approx(places, abs=0.6)
    page.select(RARE)
    page.wait(lambda: "too rare" in page.text("#near .note"))
    assert not page.all("#near .whiskers")


def test_a_run_without_intervals_says_why_below_its_neighbors(page, runs):
    page.choose("#run", "2")
    page.wait(lambda: "one" in page.text("figcaption"))
    page.select("word7")
    page.wait(
        lambda: (
            "No intervals: " in page.text("#near .note") and "has no" in page.text("#near .note")
        )
    )


def test_a_large_text_is_resampled_when_somebody_asks(page):
    page.choose("#run", "5")
    page.wait(lambda: "run" in page.text("figcaption"))
    page.run("state.info.runs[5].tokens = 1e9")
    page.select("sea1")
    page.click("#near .both .more")
    page.wait(lambda: page.all("#near .whiskers"))
    page.select("sea2")
    page.wait(lambda: page.all("#near .whiskers"))


def test_a_sentence_shows_neighbors_fill_ins_and_attention(page):
    page.click("#tab-sentence")
    page.type("#sentence-text", "the king saw the [queen] .")
    page.click("#sentence-form button")
    page.wait(lambda: "queen" in page.text("#sentence-answer h3"))
    page.wait(lambda: page.all("#attention tbody tr"))
    pieces = page.texts("#attention tbody th")
    assert page.texts("#attention thead th") == pieces
    first = page.texts("#attention tbody td")
    page.choose("#attention-Layer", "1")
    page.choose("#attention-Head", "1")
    assert page.texts("#attention tbody td") != first
    page.type("#sentence-text", "the king saw the [MASK] .")
    page.click("#sentence-form button")
    page.wait(lambda: page.texts("#sentence-answer h3") == ["In place of [MASK]"])
    assert len(page.texts("#sentence-answer li")) == 10
    page.wait(lambda: "[MASK]" in page.texts("#attention tbody th"))
