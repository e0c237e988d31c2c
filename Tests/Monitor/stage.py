"""A monitor, a writer and a browser for one test: what is started is ended, and what is written goes."""

import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from writer import PATIENCE, Writer


def wait(condition, what):
    """Waits until the condition holds; answers what the condition answered."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError(f"waited {PATIENCE} s for: {what}")


def browser(width=1280, height=800):
    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", f"--window-size={width},{height}"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(options=options)


class Stage:
    def __init__(self, weir, driver):
        self.weir = weir
        self.driver = driver
        self.folder = tempfile.mkdtemp(prefix="weir-browser-")
        self.directory = os.path.join(self.folder, "events")
        self.monitor = None
        self.port = 0
        self.writers = []

    def start(self, *options):
        """Starts the monitor, on the same port as before; answers its address."""
        environment = dict(os.environ, XDG_STATE_HOME=os.path.join(self.folder, "state"))
        self.monitor = subprocess.Popen(
            [self.weir, "monitor", self.directory, "--no-browser", "--port", str(self.port), *options],
            stdout=subprocess.PIPE, env=environment, text=True,
        )
        address = self.monitor.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:"), address
        self.port = int(address.split(":")[2].split("/")[0])
        return address

    def open(self, query=""):
        """Starts the monitor, and opens its address as a person would; then a view by its own address."""
        self.driver.get(self.start())
        wait(lambda: self.text("connection") == "connected", "the page to be connected")
        if query:
            self.visit(query)

    def visit(self, query):
        self.driver.get(f"http://127.0.0.1:{self.port}/{query}")
        wait(lambda: self.text("connection") == "connected", "the page to be connected")

    def writer(self):
        self.writers.append(Writer(self.weir, self.directory))
        return self.writers[-1]

    def run(self, *arguments, **options):
        return subprocess.run([self.weir, *arguments], **{"check": True, "capture_output": True, **options})

    def kill_monitor(self):
        self.monitor.kill()
        self.monitor.wait()
        self.monitor.stdout.close()

    def end(self):
        for writer in self.writers:
            writer.close()
        if self.monitor and self.monitor.poll() is None:
            self.monitor.send_signal(signal.SIGTERM)
            self.monitor.wait()
            self.monitor.stdout.close()
        # The next page's errors are not this one's.
        self.driver.get("about:blank")
        shutil.rmtree(self.folder, ignore_errors=True)

    # What the page shows.

    def text(self, name):
        return self.js("return document.getElementById(arguments[0])?.textContent", name)

    def js(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def offsets(self):
        return self.js(
            "return [...document.querySelectorAll('#rows tr[data-offset]')].map((row) => +row.dataset.offset)")

    def cell(self, offset, provider):
        return self.js(
            "return document.querySelector(`#rows tr[data-offset='${arguments[0]}']"
            " td[data-provider='${arguments[1]}']`)?.dataset.state", offset, provider)

    def is_hidden(self, name):
        return self.js("return document.getElementById(arguments[0]).hidden", name)

    def key(self, keys):
        self.driver.switch_to.active_element.send_keys(keys)

    def filter(self, text):
        field = self.driver.find_element(By.ID, "filter")
        # A call of its own, at whose end the control key is let go.
        field.send_keys(Keys.CONTROL + "a")
        field.send_keys(Keys.BACKSPACE + text + Keys.ENTER)

    def fetch(self, path):
        return self.driver.execute_async_script(
            "const done = arguments[1]; fetch(arguments[0]).then((answer) => answer.text()).then(done)", path)

    def errors(self):
        """What the browser noted, but for the requests that a test lets fail."""
        return [entry["message"] for entry in self.driver.get_log("browser")
                if entry["level"] == "SEVERE" and "Failed to load resource" not in entry["message"]]


def weir_of(arguments):
    """The tool's path, from the command line."""
    path = pathlib.Path(arguments[1]).resolve()
    assert path.exists(), f"{path} is not there; build the tool first"
    return str(path)
