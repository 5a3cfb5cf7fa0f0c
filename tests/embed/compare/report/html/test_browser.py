"""The report page in a real browser: no errors on the console, sorting, filters, looking words up.

The page runs in frames of a test page, which clicks, types and measures, and writes what it found.
"""

import html
import json
import re
import shutil
import subprocess

import pytest

from firth.embed.compare.report.html.page import make_page
from tests.embed.compare.report.report_pages import all_parts, result, small_document
from tests.waiting import PATIENCE

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(
        CHROMIUM is None, reason="chromium is not on PATH; apt-get install chromium"
    ),
]
PHONE, DESKTOP = 390, 1200
HARNESS = """<!DOCTYPE html><meta charset="utf-8"><title>harness</title>
<iframe id="phone" width="{phone}" height="800" srcdoc="{page}"></iframe>
<iframe id="desktop" width="{desktop}" height="800" srcdoc="{page}"></iframe>
<script>
addEventListener("load", () => {{
  const found = {{}};
  const frame = (id) => document.getElementById(id).contentDocument;
  const page = frame("desktop");
  const column = (table, n) => [...table.tBodies[0].rows].map((r) => r.cells[n].textContent);
  const visible = (table) => [...table.tBodies[0].rows].filter((r) => !r.hidden).length;
  const type = (text) => {{
    const box = page.getElementById("lookup");
    box.value = text;
    box.dispatchEvent(new Event("input"));
    const words = [...page.querySelectorAll(".word")];
    return {{
      status: page.getElementById("found").textContent,
      shown: words.filter((w) => !w.hidden).map((w) => w.dataset.word),
      open: words.filter((w) => w.firstElementChild.open).map((w) => w.dataset.word),
      lit: [...page.querySelectorAll(".map .hit")].map((p) => p.dataset.word),
    }};
  }};
  try {{
    {steps}
  }} catch (error) {{ found.error = String(error); }}
  const out = document.createElement("pre");
  out.id = "found";
  out.textContent = JSON.stringify(found);
  document.body.append(out);
  console.error("all is done");
}});
</script>"""
STEPS = """
found.widths = ["phone", "desktop"].map((id) => {
  const root = frame(id).documentElement;
  return [root.clientWidth, root.scrollWidth];
});
found.boxes = [...frame("phone").querySelectorAll(".box")].filter(
  (box) => box.scrollWidth > box.clientWidth).length;
const table = page.querySelector("#scores table");
const heads = [...table.tHead.rows[0].cells];
const score = heads[3].querySelector("button");
found.before = column(table, 3);
found.sorted = [];
for (let turn = 0; turn < 3; turn += 1) {
  score.focus();
  score.click();
  found.sorted.push([heads.map((h) => h.getAttribute("aria-sort")).join(" "), column(table, 3)]);
}
heads[2].querySelector("button").click();
found.byRun = column(table, 2);
const [set, metric] = page.querySelectorAll("#scores select");
found.labels = [set, metric].map((s) => s.labels[0].textContent.trim());
set.value = "ws353";
set.dispatchEvent(new Event("change"));
found.filtered = [visible(table), page.querySelector("#scores [role=status]").textContent];
metric.value = "pearson";
metric.dispatchEvent(new Event("change"));
found.none = visible(table);
found.looked = [type("APPLE"), type("queen"), type("zebra"), type("")];
const words = [...page.querySelectorAll(".word")];
const lefts = () => words.map((word) => word.getBoundingClientRect().left);
const placed = lefts();
words[0].firstElementChild.open = false;
found.closed = [type("apple").open, type("").open, String(placed) === String(lefts())];
found.focusable = page.querySelector(".skip").tabIndex === 0;
"""


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    """Results of the steps, and the browser log."""
    document = small_document("<script>alert(1)</script>", "out/sg")
    more = {"dataset": "men", "metric": "pearson"}
    document["results"] += [
        result("out/sg", None, reason="all cosines are equal", **more),
        result("random", -0.3, -0.4, -0.2, **more),
    ]
    page = make_page(document, all_parts("<script>alert(1)</script>", "out/sg"))
    folder = tmp_path_factory.mktemp("browser")
    harness = HARNESS.format(
        page=html.escape(page), steps=STEPS, phone=PHONE + 4, desktop=DESKTOP + 4
    )  # frames have borders of 2
    (folder / "harness.html").write_text(harness, encoding="utf-8")
    done = subprocess.run(
        [
            CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
            f"--user-data-dir={folder / 'profile'}", "--enable-logging=stderr",
            "--virtual-time-budget=5000", "--window-size=1400,1000", "--dump-dom",
            (folder / "harness.html").as_uri(),
        ],
        capture_output=True, text=True, check=True, timeout=PATIENCE,
    )  # fmt: skip
    [written] = re.findall(r'<pre id="found">(.*?)</pre>', done.stdout, re.DOTALL)
    return json.loads(html.unescape(written)), done.stderr


@pytest.fixture(scope="module")
def found(opened):
    return opened[0]


def test_the_page_logs_nothing_to_the_console(opened):
    found, logged = opened
    assert "error" not in found
    # the harness logs once, to show that logging works
    assert re.findall(r'CONSOLE:\d+\] "(.*?)"', logged) == ["all is done"]


def test_the_page_fits_a_phone_and_tables_scroll_in_their_boxes(found):
    for width, content in found["widths"]:
        assert content <= width
    assert [width for width, _ in found["widths"]] <= [PHONE + 4, DESKTOP + 4]
    assert found["boxes"] > 0


def test_tables_sort_by_number_with_undefined_values_last(found):
    down = [each[1] for each in found["sorted"]]
    assert found["before"] == ["0.500best", "0.450= best", "−0.020", "undefined", "−0.300best"]
    order = ["0.500best", "0.450= best", "−0.020", "−0.300best", "undefined"]
    assert down[0] == down[2] == order
    assert down[1] == [*order[3::-1], "undefined"]
    none = "none none none {} none none none"
    assert [each[0] for each in found["sorted"]] == [
        none.format(way) for way in ("descending", "ascending", "descending")
    ]
    assert found["byRun"] == sorted(found["byRun"])


def test_tables_can_be_filtered_by_set_and_metric(found):
    assert found["labels"] == ["Set", "Metric"]
    assert found["filtered"] == [3, "3 of 5 rows"]
    assert found["none"] == 0


def test_search_finds_words_neighbors_and_map_labels(found):
    apple, queen, zebra, nothing = found["looked"]
    assert apple == {
        "status": "Found: 1 of 2 words, and neighbors of 0 others.",
        "shown": ["apple"],
        "open": ["apple"],
        "lit": ["apple"],
    }
    assert (queen["shown"], queen["lit"]) == (["king"], ["queen"])
    assert queen["status"] == "Found: 0 of 2 words, and neighbors of 1 others."
    assert zebra["status"] == "“zebra” is not on this page."
    assert zebra["shown"] == zebra["lit"] == []
    assert nothing == {
        "status": "",
        "shown": ["king", "apple"],
        "open": ["king", "apple"],
        "lit": [],
    }


def test_a_word_that_was_closed_stays_closed_after_a_search_and_in_its_place(found):
    assert found["closed"] == [["apple"], ["apple"], True]


def test_the_skip_link_can_be_reached_by_keyboard(found):
    assert found["focusable"]
