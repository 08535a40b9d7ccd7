"""Chromium without a window, and its complaints about pages."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

WIDTHS = (1280, 390)
CI = bool(os.environ.get("CI"))


def missing(reason: str) -> None:
    """Skip for a reason; in CI, where everything is installed, fail for it."""
    if CI:
        pytest.fail(reason)
    pytest.skip(reason)


def opened() -> Iterator[Any]:
    """Yield a browser until the test is over."""
    from selenium import webdriver

    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        missing("chromium or chromedriver is not installed (Debian: chromium, chromium-driver)")
    options = webdriver.ChromeOptions()
    options.binary_location = str(chromium)
    for switch in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-background-networking"):
        options.add_argument(switch)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(str(driver)))
    browser.set_page_load_timeout(60)
    yield browser
    browser.quit()


def wait(browser: Any, script: str) -> Any:
    """Return the value of a script once it is true."""
    from selenium.webdriver.support.ui import WebDriverWait

    return WebDriverWait(browser, 30).until(lambda driver: driver.execute_script(f"return {script}"))


def visit(browser: Any, url: str, width: int) -> None:
    """Open a page in a window of so many pixels."""
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    browser.get(url)
    wait(browser, "document.readyState === 'complete'")


def complaints(browser: Any, address: str) -> list[str]:
    """Return errors of the console, and requests that went anywhere but to the address."""
    words = [entry["message"] for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]
    for entry in browser.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            url = message["params"]["request"]["url"]
            if not url.startswith((address, "data:", "blob:", "about:", "chrome:")):
                words.append(f"asked {url}")
    return words
