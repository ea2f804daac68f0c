"""Headless Chromium, controlled through its DevTools protocol over a pipe, for opening a file and inspecting the page.

Needs the Debian package chromium and only Python's standard library.
"""

import base64
import json
import os
import pathlib
import select
import shutil
import subprocess
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome")
LIMIT_S = 60


def program():
    """The path of Chromium, None where there is none."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Browser:
    """One Chromium with one page. `requests` has all its network requests, `errors` its script errors."""

    def __init__(self):
        self.start()
        try:
            self.attach()
        except BaseException:
            self.close()
            raise

    def start(self):
        self.folder = tempfile.TemporaryDirectory(prefix="hone-browser-", ignore_cleanup_errors=True)
        to_browser, self.send_to = os.pipe()
        self.read_from, from_browser = os.pipe()
        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]
        flags += ["--disable-background-networking", "--disable-component-update", "--remote-debugging-pipe"]
        flags += [f"--user-data-dir={self.folder.name}", "--host-resolver-rules=MAP * ~NOTFOUND", "about:blank"]
        self.log = pathlib.Path(self.folder.name) / "stderr"
        # The protocol's pipes are descriptors 3 and 4. bash, since dash knows no descriptor above 9.
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                ["bash", "-c", f'exec "$@" 3<&{to_browser} 4>&{from_browser}', "bash", program(), *flags],
                pass_fds=(to_browser, from_browser),
                stdout=subprocess.DEVNULL,
                stderr=log,
                env=dict(os.environ, HOME=self.folder.name, TMPDIR=self.folder.name),
            )
        os.close(to_browser)
        os.close(from_browser)
        self.number, self.buffer, self.session = 0, b"", None
        self.requests, self.errors, self.loaded = [], [], False

    def attach(self):
        """Takes the one page of a Chromium just started."""
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(target["targetId"] for target in targets if target["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.send_to)
        os.close(self.read_from)
        self.folder.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def message(self):
        """The browser's next message."""
        deadline = time.monotonic() + LIMIT_S
        while b"\0" not in self.buffer:
            if not select.select([self.read_from], [], [], max(0, deadline - time.monotonic()))[0]:
                raise TimeoutError("Chromium does not answer")
            part = os.read(self.read_from, 1 << 20)
            if not part:
                raise self.ended()
            self.buffer += part
        text, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(text)

    def ended(self):
        """An error with its last words."""
        status = self.process.wait(LIMIT_S)
        words = self.log.read_text(errors="replace").strip().splitlines()[-3:]
        return RuntimeError(f"Chromium ended with status {status}: {' | '.join(words)}")

    def note(self, event):
        method, values = event.get("method"), event.get("params", {})
        if method == "Network.requestWillBeSent":
            self.requests.append(values["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            details = values["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Log.entryAdded" and values["entry"]["level"] == "error":
            self.errors.append(values["entry"]["text"])
        elif method == "Page.loadEventFired":
            self.loaded = True

    def call(self, method, **values):
        self.number += 1
        request = {"id": self.number, "method": method, "params": values}
        if self.session:
            request["sessionId"] = self.session
        try:
            os.write(self.send_to, json.dumps(request).encode() + b"\0")
        except BrokenPipeError:
            raise self.ended() from None
        while True:
            message = self.message()
            if message.get("id") == self.number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]
            self.note(message)

    def open(self, path, width, dark=False, height=900):
        """Opens a file at this width (as a phone below 500) and theme, and waits until the layout is stable."""
        self.requests, self.errors, self.loaded = [], [], False
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500
        )
        theme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[theme])
        self.call("Page.navigate", url=pathlib.Path(path).resolve().as_uri())
        while not self.loaded:
            self.note(self.message())
        self.settle()

    def settle(self):
        """Waits two frames, until size observers and animation frames have run."""
        self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")

    def run(self, script):
        """The value of a JavaScript expression, awaited if it is a promise."""
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"].get("exception", {}).get("description", script))
        return result["result"].get("value")

    def click(self, selector):
        """A real click into the middle of an element."""
        box = self.run(
            f"(e => {{ e.scrollIntoView({{block: 'center'}}); const b = e.getBoundingClientRect();"
            f" return [b.x + b.width / 2, b.y + b.height / 2]; }})(document.querySelector({json.dumps(selector)}))"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1], button="left", clickCount=1)
        self.settle()

    def screenshot(self, path):
        """The whole page as a PNG."""
        image = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)["data"]
        pathlib.Path(path).write_bytes(base64.b64decode(image))
