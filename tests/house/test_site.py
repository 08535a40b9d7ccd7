"""The site: it builds without a warning, every link resolves, and a browser shows it without asking anybody else."""

from __future__ import annotations

import importlib
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from helpers.browser import WIDTHS, complaints, missing, opened, visit, wait
from helpers.rule_pages import lacking

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SECONDS = 600  # for a build on a busy machine; three minutes on two cores that do nothing else
PAGES = (
    "index.html",
    "tutorials/position.html",
    "gallery.html",
    "api/position.html",
    "proofs/T08_optimal.html",
    "rules/tree_lifted.html",
    "results/pair.html",
    "results/systems.html",
    "results/systems/disco.html",
    "results/conform.html",
)
MACHINE = re.compile(r"/root/|/home/\w|/tmp/|/wor[k]/|/usr/lib|file://|site-packages")
NEEDED = ("sphinx", "furo", "myst_nb", "numpydoc", "sphinx-mathjax-offline", "selenium", "filelock")


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site; one build serves all workers."""
    absent = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if absent:
        missing(f"the extras docs and test are not installed: {', '.join(absent)} missing")
    from filelock import FileLock

    base = tmp_path_factory.getbasetemp()
    shared = base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base
    out, log = shared / "site", shared / "site.log"
    with FileLock(shared / "site.lock"):
        if not log.exists():
            command = [sys.executable, str(DOCS / "build.py"), str(out)]
            run = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, cwd=ROOT)
            log.write_text(json.dumps([run.returncode, run.stdout + run.stderr]), encoding="utf-8")
    status, said = json.loads(log.read_text(encoding="utf-8"))
    assert status == 0, said[-4000:]
    return out


class Page(HTMLParser):
    """What a page points to, and the places in it that can be pointed to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.places: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("href", "src") and value:
                self.links.append(value)
            if name in ("id", "name") and value:
                self.places.add(value)


def broken(site: Path) -> list[str]:
    """Every link of a site that leads nowhere in it."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}
    found = []
    for path, page in pages.items():
        for link in page.links:
            if re.match(r"(https?|mailto|data|javascript):", link):
                continue
            name, _, place = link.partition("#")
            goal = (path.parent / unquote(name.partition("?")[0])).resolve() if name else path
            goal = goal / "index.html" if goal.is_dir() else goal
            if not goal.is_file():
                found.append(f"{path.relative_to(site)}: {link}")
            elif place and goal.suffix == ".html" and unquote(place) not in pages[goal].places:
                found.append(f"{path.relative_to(site)}: {link} (no such place)")
    return found


@pytest.mark.slow
def test_every_link_resolves(site: Path) -> None:
    assert broken(site) == []


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text('<a href="b.html#here">b</a> <img src="c.png"> <a href="https://x.org">x</a>')
    (tmp_path / "b.html").write_text('<p id="there"></p>')
    assert broken(tmp_path) == ["a.html: b.html#here (no such place)", "a.html: c.png"]


@pytest.mark.slow
def test_no_page_names_this_machine(site: Path) -> None:
    named = {}
    for path in site.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        found = [text[m.start() : m.start() + 60] for m in MACHINE.finditer(text)]
        if found:
            named[str(path.relative_to(site))] = found
    assert named == {}


@pytest.mark.slow
def test_tutorials_were_executed(site: Path) -> None:
    for path in (DOCS / "choose.md", *sorted((DOCS / "tutorials").glob("*.md"))):
        cells = path.read_text(encoding="utf-8").count("```{code-cell}")
        if path.stem != "index":
            assert cells >= 4, path
            page = (site / path.relative_to(DOCS).with_suffix(".html")).read_text(encoding="utf-8")
            assert page.count("cell_output") >= cells // 2, path
            assert "output stderr" not in page, f"{path} shows a warning"


@pytest.mark.slow
def test_the_api_leads_to_sources_and_other_names(site: Path) -> None:
    page = (site / "api" / "position.html").read_text(encoding="utf-8")
    assert '_modules/specsim/exact/step.html#acceptance_rate">' in page
    assert re.search(r'href="#specsim.optimal_acceptance"[^>]*><code[^>]*><span class="pre">optimal_acceptance', page)
    index = (site / "api" / "index.html").read_text(encoding="utf-8")
    assert 'href="trees.html#specsim.trees.paths"' in index


@pytest.mark.slow
def test_every_rule_has_its_page(site: Path) -> None:
    from specsim import discover

    recorded = json.loads((DOCS / "_generate" / "checks.json").read_text(encoding="utf-8"))
    lacks = {}
    for family in discover.FAMILIES:
        for name in discover.names(family):
            page = (site / "rules" / f"{family}_{name}.html").read_text(encoding="utf-8")
            findings = recorded[f"{family}/{name}"]["findings"]
            sampled = family == "objective" and discover.objective_facts(discover.find(family, name)).sampled
            pictured = name != "independent" and family != "control" and not sampled  # these have no curve
            found = list(lacking(page, family, name, findings, pictured))
            lacks |= {f"{family}/{name}": found} if found else {}
    assert lacks == {}


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: requests are read from the browser."""


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def browser(site: Path) -> Iterator[Any]:
    yield from opened()


@pytest.mark.slow
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("page", PAGES)
def test_a_browser_shows_it(browser: Any, address: str, page: str, width: int) -> None:
    visit(browser, f"{address}/{page}", width)
    formulas = browser.execute_script("return document.querySelectorAll('.math').length")
    assert formulas or not page.startswith(("index", "tutorials"))
    shown = "[...document.querySelectorAll('.math mjx-container svg')].filter(f => f.getBoundingClientRect().width > 5)"
    wait(browser, f"{shown}.length === {formulas}")
    pictures = "[...document.images].filter(i => i.offsetParent)"
    wait(browser, f"{pictures}.every(i => i.complete && i.naturalWidth > 0)")
    assert browser.execute_script("return document.querySelectorAll('[data-mml-node=merror]').length") == 0
    assert page.startswith(("api", "proofs")) or browser.execute_script("return document.images.length") > 0
    across = browser.execute_script("return document.documentElement.scrollWidth")
    assert across <= width, f"{page} is {across} pixels wide in a window of {width}"
    cut = "[...document.querySelectorAll('table.verdicts')].filter(t => t.scrollWidth > t.parentNode.clientWidth + 1)"
    assert browser.execute_script(f"return {cut}.length") == 0, "a table of verdicts is wider than the page"
    assert complaints(browser, address) == []


@pytest.mark.slow
def test_the_search_box_finds(browser: Any, address: str) -> None:
    visit(browser, f"{address}/index.html", 1280)
    box = browser.find_element("css selector", "input.sidebar-search")
    box.send_keys("traversal")
    box.submit()
    wait(browser, "document.querySelectorAll('#search-results li a').length > 2")
    titles = browser.execute_script(
        "return [...document.querySelectorAll('#search-results li a')].map(a => a.innerText)"
    )
    assert any("traversal" in title.lower() for title in titles), titles
    assert complaints(browser, address) == []


@pytest.mark.slow
def test_the_browser_can_complain(browser: Any, address: str, site: Path) -> None:
    page = '<script src="https://cdn.example/x.js"></script><script>console.error("oh"); missing()</script>'
    (site / "wrong.html").write_text(page, encoding="utf-8")
    visit(browser, f"{address}/wrong.html", 390)
    (site / "wrong.html").unlink()
    found = " ".join(complaints(browser, address))
    assert "asked https://cdn.example/x.js" in found
    assert "missing is not defined" in found
