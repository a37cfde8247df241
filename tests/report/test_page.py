"""The report in a real browser."""

from __future__ import annotations

import csv
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from selenium import webdriver
from selenium.common.exceptions import ElementClickInterceptedException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import WebDriverWait

from rsrae.report import ReportFacts, write_report

from .sample_reports import document_report, image_report, table_report

CHROMIUM = next(filter(None, map(shutil.which, ["chromium", "chromium-browser", "google-chrome"])), None)
CHROMEDRIVER = shutil.which("chromedriver")
FLAGS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1280,1000",
]

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None or CHROMEDRIVER is None, reason="needs chromium and chromedriver"),
]


class Browser:
    """A page as a person uses it."""

    def __init__(self, driver: webdriver.Chrome, folder: Path) -> None:
        self.driver = driver
        self.folder = folder

    def open(self, facts: ReportFacts) -> None:
        path = self.folder / "report.html"
        write_report(path, facts)
        self.console()
        self.driver.get(path.as_uri())

    def console(self) -> list[str]:
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def run(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_script(script, *arguments)

    def one(self, selector: str) -> WebElement:
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector: str) -> list[WebElement]:
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def texts(self, selector: str) -> list[str]:
        script = "return [...document.querySelectorAll(arguments[0])].map((node) => node.textContent)"
        texts: list[str] = self.run(script, selector)
        return texts

    def names(self) -> list[str]:
        return self.texts("#list .name")

    def listed(self) -> int:
        """How many items the list holds over all its pages."""
        text = self.one("#page").text
        return int(text.rsplit(" ", 1)[1].replace(",", "")) if text else 0

    def flagged(self) -> int:
        return int(self.one("#flagged").text.replace(",", ""))

    def click(self, selector: str) -> None:
        def is_clicked() -> bool:
            self.scroll_to(selector)
            try:
                self.one(selector).click()
            except ElementClickInterceptedException:  # on a busy machine the page is still finding its shape
                return False
            return True

        self.wait(is_clicked)

    def scroll_to(self, selector: str) -> None:
        script = "document.querySelector(arguments[0]).scrollIntoView({block: 'center', behavior: 'instant'})"
        self.run(script, selector)

    def wait(self, condition: Callable[[], object]) -> None:
        WebDriverWait(self.driver, 10, poll_frequency=0.05).until(lambda _: condition())

    def drag(self, selector: str, *points: tuple[float, float]) -> None:
        """Drag over an element along points given as fractions of its size."""
        self.scroll_to(selector)
        node = self.one(selector)
        width, height = node.size["width"], node.size["height"]
        places = [(round((x - 0.5) * width), round((y - 0.5) * height)) for x, y in points]
        actions = ActionChains(self.driver, duration=60).move_to_element_with_offset(node, *places[0])
        actions.click_and_hold()
        for place in places[1:]:
            actions.move_to_element_with_offset(node, *place)
        actions.release().perform()


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM or ""
    for flag in FLAGS:
        options.add_argument(flag)
    options.add_argument(f"--user-data-dir={tmp_path_factory.mktemp('profile')}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(CHROMEDRIVER))
    yield driver
    driver.quit()


@pytest.fixture
def browser(driver: webdriver.Chrome, tmp_path: Path) -> Browser:
    driver.execute_cdp_cmd(
        "Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path / "downloads")}
    )
    driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    return Browser(driver, tmp_path)


@pytest.mark.parametrize("make", [table_report, image_report, document_report])
@pytest.mark.parametrize("width", [1280, 360])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_page_opens_without_a_word_in_the_console_and_fits(
    browser: Browser, make: Callable[[int], ReportFacts], width: int, theme: str
) -> None:
    screen = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    feature = {"name": "prefers-color-scheme", "value": theme}
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
    browser.open(make(60))
    assert browser.console() == []
    assert len(browser.names()) > 10
    assert len(browser.all("canvas")) >= 5  # histogram, map, three curves
    assert browser.run("return document.documentElement.scrollWidth") <= width
    brightness = browser.run("return getComputedStyle(document.body).backgroundColor.match(/\\d+/g)[0]")
    assert (int(brightness) < 100) == (theme == "dark")


def test_nothing_is_fetched_and_the_policy_forbids_it(browser: Browser) -> None:
    browser.open(image_report(10))
    fetched = browser.run("return performance.getEntriesByType('resource').map((entry) => entry.name)")
    assert [name for name in fetched if not name.startswith("data:")] == []
    browser.run("const s = document.createElement('script'); s.text = 'window.hacked = 1'; document.body.append(s)")
    assert browser.run("return window.hacked") is None
    assert "Content Security Policy" in " ".join(browser.console())


def test_the_slider_changes_counts_and_list_and_can_be_taken_back(browser: Browser) -> None:
    facts = table_report(300)
    browser.open(facts)
    assert browser.flagged() == facts.n_flagged
    browser.click("[data-verdict='anomaly']")
    assert browser.listed() == facts.n_flagged

    browser.one("#slider").send_keys(Keys.PAGE_DOWN * 2)
    browser.wait(lambda: browser.flagged() > facts.n_flagged)
    line = float(browser.one("#line").text)
    assert line < facts.threshold
    assert browser.flagged() == sum(item.score > line for item in facts.items)
    assert browser.listed() == browser.flagged()
    assert "moved from 1.05" in browser.one("#line-origin").text

    browser.click("#reset")
    browser.wait(lambda: browser.flagged() == facts.n_flagged)
    assert browser.one("#line-origin").text == "drawn by the model"


def test_the_slider_reaches_from_everything_to_nothing(browser: Browser) -> None:
    browser.open(table_report(100))
    browser.one("#slider").send_keys(Keys.HOME)
    browser.wait(lambda: browser.flagged() == 100)
    browser.one("#slider").send_keys(Keys.END)
    browser.wait(lambda: browser.flagged() == 0)
    browser.click("[data-verdict='anomaly']")
    assert browser.one("#list").text.startswith("Nothing to show")
    assert browser.one("#download").get_attribute("disabled") == "true"


def test_the_filter_shows_anomalies_or_the_others(browser: Browser) -> None:
    facts = table_report(300)
    flagged = [item.name for item in facts.items if item.score > facts.threshold]
    normal = [item.name for item in facts.items if item.score <= facts.threshold]
    browser.open(facts)
    browser.click("[data-verdict='anomaly']")
    assert browser.names() == flagged
    browser.click("[data-verdict='normal']")
    assert browser.names() == normal[:50]
    browser.click("[data-verdict='all']")
    assert browser.listed() == 300


def test_the_search_looks_into_names_and_cells_and_starts_on_the_first_page(browser: Browser) -> None:
    facts = table_report(300)
    browser.open(facts)
    browser.click("#next")
    assert browser.names()[0] == facts.items[50].name
    browser.one("#search").send_keys("oslo YES")
    expected = [i.name for i in facts.items if i.cells["city"] == "Oslo" and i.cells["express"] == "yes"]
    assert browser.listed() == len(expected)
    assert browser.names() == expected[:50]
    browser.one("#search").clear()
    browser.one("#search").send_keys(facts.items[7].name)
    assert browser.names() == [facts.items[7].name]


def test_the_search_looks_into_documents(browser: Browser) -> None:
    browser.open(document_report(100))
    browser.one("#search").send_keys("casserole")
    assert 0 < browser.listed() < 100
    assert all("casserole" in node.text.lower() for node in browser.all(".document"))


def test_a_box_on_the_map_selects_and_clearing_brings_everything_back(browser: Browser) -> None:
    facts = table_report(300)
    browser.open(facts)
    browser.drag("#map", (0.5, 0.08), (0.7, 0.3), (0.95, 0.45))
    browser.wait(lambda: browser.one("#selection").is_displayed())
    selected = browser.listed()
    assert 0 < selected < 300
    place = {item.name: item.position for item in facts.items}
    picked = np.array([place[name] for name in browser.names()])
    # The upper right part was drawn over, so nothing from the left or the bottom is listed.
    middle = np.array([item.position for item in facts.items]).mean(axis=0)
    assert (picked[:, 1] > middle[1] - 0.5).all()
    assert browser.one("#selection").text == f"On the map: {selected} \u00d7"

    browser.click("#selection")
    browser.wait(lambda: browser.listed() == 300)
    assert not browser.one("#selection").is_displayed()


def test_a_lasso_selects_and_the_selection_survives_a_moved_line(browser: Browser) -> None:
    browser.open(table_report(300))
    browser.click("[data-brush='polygon']")
    browser.drag("#map", (0.2, 0.2), (0.8, 0.2), (0.8, 0.6), (0.2, 0.6), (0.2, 0.2))
    browser.wait(lambda: browser.one("#selection").is_displayed())
    selected = set(browser.names())
    count = browser.listed()
    assert 0 < count < 300
    browser.one("#slider").send_keys(Keys.ARROW_LEFT * 5)
    browser.wait(lambda: "moved" in browser.one("#line-origin").text)
    # Past the time the map waits before it reports a selection.
    browser.driver.execute_async_script("setTimeout(arguments[0], 300)")
    assert browser.listed() == count
    assert set(browser.names()) == selected
    # And the lasso still draws.
    browser.drag("#map", (0.4, 0.3), (0.6, 0.3), (0.6, 0.5), (0.4, 0.5), (0.4, 0.3))
    browser.wait(lambda: 0 < browser.listed() < count)


@pytest.mark.parametrize("is_selected", [False, True])
def test_hovering_over_the_map_shows_the_item(browser: Browser, is_selected: bool) -> None:
    facts = image_report(3)
    names, places = ["<b>odd</b> & far", "left", "right"], [(0.0, 0.0), (-5.0, -5.0), (5.0, 5.0)]
    items = [
        replace(item, name=name, position=place) for item, name, place in zip(facts.items, names, places, strict=True)
    ]
    browser.open(replace(facts, items=items))
    browser.scroll_to("#map")
    if is_selected:
        browser.drag("#map", (0.3, 0.2), (0.7, 0.7))
        browser.wait(lambda: browser.listed() == 1)
    # The first item lies in the middle of the plot, which leaves 12 px of the chart above and 44 px below.
    chart = browser.one("#map")
    ActionChains(browser.driver).move_to_element_with_offset(chart, 0, (12 - 44) // 2).perform()
    browser.wait(lambda: browser.one(".tip strong").text == "<b>odd</b> & far")
    assert "rank 1" in browser.one(".tip").text
    assert browser.one(".tip img").is_displayed()


def test_the_download_holds_the_current_selection(browser: Browser) -> None:
    facts = table_report(200)
    browser.open(facts)
    browser.click("[data-verdict='anomaly']")
    browser.one("#search").send_keys("yes")
    browser.click("#download")
    rows = downloaded(browser)
    expected = [i for i in facts.items if i.score > facts.threshold and i.cells["express"] == "yes"]
    assert [row["item"] for row in rows] == [item.name for item in expected]
    assert [int(row["rank"]) for row in rows] == [item.rank for item in expected]
    assert [float(row["score"]) for row in rows] == pytest.approx([i.score for i in expected], rel=1e-5)
    assert {row["verdict"] for row in rows} == {"anomaly"}
    assert [row["city"] for row in rows] == [item.cells["city"] for item in expected]
    assert rows[0]["reasons"].startswith("price (")


def test_the_download_quotes_and_defuses_formulas_but_keeps_numbers(browser: Browser) -> None:
    cells = {
        "a": '=HYPERLINK("x")',
        "b": "-12.5",
        "c": 'say "hi", twice\r\nor more',
        "d": "+1 (555)",
        "e": "Zoë 😀",
    }
    facts = table_report(20)
    first, *others = facts.items
    browser.open(replace(facts, items=[replace(first, name="@SUM(A1)", cells=cells), *others]))
    browser.one("#search").send_keys("@sum")
    browser.click("#download")
    (row,) = downloaded(browser)
    assert row["item"] == "'@SUM(A1)"
    assert row["a"] == '\'=HYPERLINK("x")'
    assert row["d"] == "'+1 (555)"
    assert {key: row[key] for key in "bce"} == {key: cells[key] for key in "bce"}


def downloaded(browser: Browser) -> list[dict[str, str]]:
    folder = browser.folder / "downloads"
    browser.wait(lambda: list(folder.glob("*.csv")))
    (path,) = folder.glob("*.csv")
    assert path.name == "Orders-of-the-spring-sale.csv"
    browser.wait(lambda: path.stat().st_size > 0)
    with open(path, encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


HOSTILE = "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'>\u2028 \"'&"


@pytest.mark.parametrize("make", [table_report, image_report, document_report])
def test_hostile_text_is_shown_and_never_run(browser: Browser, make: Callable[[int], ReportFacts]) -> None:
    facts = make(10)
    first, *others = facts.items
    reasons = [replace(r, feature=HOSTILE, value=HOSTILE, expected=HOSTILE, share=0.5) for r in first.reasons[:1]]
    cells = {HOSTILE: HOSTILE} if first.cells else {}
    text = None if first.text is None else HOSTILE
    hostile = replace(first, name=HOSTILE, reasons=reasons, cells=cells, text=text)
    browser.open(
        replace(
            facts,
            items=[hostile, *others],
            title=HOSTILE,
            source=HOSTILE,
            notes=[HOSTILE],
            skipped=[(HOSTILE, HOSTILE)],
            history={HOSTILE: [2.0, 1.0]},
            metrics={HOSTILE: 0.5},
            settings={HOSTILE: HOSTILE},
        )
    )
    assert browser.run("return window.hacked") is None
    assert browser.console() == []
    assert browser.names()[0] == HOSTILE
    assert browser.run("return document.querySelector('h1').textContent") == HOSTILE
    assert browser.run("return document.querySelectorAll('[onerror]').length") == 0


def test_words_that_made_a_document_strange_are_marked_and_no_others(browser: Browser) -> None:
    facts = document_report(100)
    browser.open(facts)
    first = facts.items[0]
    marked = browser.texts(".document:first-child .text mark")
    odd = first.reasons[0].feature
    assert [word.lower() for word in marked] == [odd, odd, "nothing"]
    shown = browser.run("return document.querySelector('.document .text').textContent")
    assert shown == first.text


def test_cells_that_made_a_row_strange_are_marked(browser: Browser) -> None:
    facts = table_report(50)
    browser.open(facts)
    marked = browser.texts("tbody tr:first-child td.cell.marked")
    reasons = facts.items[0].reasons
    assert sorted(marked) == sorted(reason.value for reason in reasons if reason.share >= 0.05)


def test_5000_items_are_shown_a_page_at_a_time(browser: Browser) -> None:
    browser.open(table_report(5_000))
    assert browser.console() == []
    assert browser.run("return document.querySelectorAll('*').length") < 3_000
    assert browser.one("#page").text == "1\u201350 of 5,000"
    browser.run("for (let page = 1; page < 20; page++) document.getElementById('next').click()")
    assert browser.one("#page").text == "951\u20131,000 of 5,000"
    assert browser.run("return document.querySelectorAll('*').length") < 3_000


def test_unlisted_items_count_when_the_line_moves(browser: Browser) -> None:
    rng = np.random.default_rng(0)
    facts = replace(table_report(200), unlisted_scores=rng.uniform(0.0, 0.2, 100_000))
    browser.open(facts)
    assert browser.flagged() == facts.n_flagged
    browser.one("#slider").send_keys(Keys.HOME)
    browser.wait(lambda: browser.flagged() == 100_200)
    assert "200 strangest of 100,200" in browser.one("body").text


def test_the_theme_button_goes_from_the_systems_theme_to_light_and_dark(browser: Browser) -> None:
    feature = {"name": "prefers-color-scheme", "value": "dark"}
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
    browser.open(table_report(20))
    seen = []
    for _ in range(4):
        seen.append(browser.run("return document.documentElement.dataset.theme"))
        browser.click("#theme")
    assert seen == ["dark", "light", "dark", "dark"]


@pytest.mark.parametrize("kind", ["table", "images", "documents", "embeddings"])
def test_a_page_without_any_optional_fact_opens(browser: Browser, kind: Any) -> None:
    facts = table_report(3)
    bare = [replace(item, reasons=(), cells={}, position=None, label=None) for item in facts.items]
    browser.open(ReportFacts("t", "s", kind, facts.created, threshold=100.0, items=bare))
    assert browser.console() == []
    assert browser.names() == [item.name for item in facts.items]
    assert not browser.one("#map-panel").is_displayed()
    assert browser.flagged() == 0


def test_a_page_without_items_opens(browser: Browser) -> None:
    browser.open(ReportFacts("t", "s", "table", table_report(1).created, threshold=1.0, items=[]))
    assert browser.console() == []
    assert browser.flagged() == 0
