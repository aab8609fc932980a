"""Drives a headless Chromium by its debugging pipe, for tests of the live page.

Reads one command a line on standard input, and answers each with one line of JSON:
  open URL                  waits until the page has loaded
  evaluate EXPRESSION       the value of a JavaScript expression, a promise's when it is there
  until SECONDS EXPRESSION  the same, once it is true
  picture PATH              a screenshot
  size WIDTH HEIGHT         the size of the window
"""
import base64
import json
import os
import subprocess
import sys
import tempfile
import time


class Browser:
    def __init__(self):
        to_read, self.output = os.pipe()
        self.input, to_write = os.pipe()
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)

        def descriptors():
            # Chromium reads from 3 and writes to 4.
            os.dup2(to_read, 100)
            os.dup2(to_write, 101)
            os.dup2(100, 3)
            os.dup2(101, 4)

        self.process = subprocess.Popen(
            ["chromium", "--headless=new", "--no-sandbox", "--remote-debugging-pipe",
             "--disable-gpu", "--mute-audio", "--no-first-run", "--disable-extensions",
             "--disable-background-networking", "--disable-dev-shm-usage",
             "--autoplay-policy=no-user-gesture-required", "--hide-scrollbars",
             "--host-resolver-rules=MAP *.example 127.0.0.1",
             f"--user-data-dir={self.folder.name}", "about:blank"],
            preexec_fn=descriptors, close_fds=False,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_write)
        self.number = 0
        self.buffer = b""
        self.events = []
        self.session = None
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(target for target in targets if target["type"] == "page")
        self.session = self.call(
            "Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def receive(self):
        while b"\0" not in self.buffer:
            piece = os.read(self.input, 1 << 20)
            if not piece:
                raise EOFError("the browser is gone")
            self.buffer += piece
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.output, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(answer["error"]["message"])
                return answer["result"]
            self.note(answer)

    def note(self, event):
        parameters = event.get("params", {})
        if event.get("method") == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            words = details.get("exception", {}).get("description") or details["text"]
            print(f"exception: {words}", file=sys.stderr, flush=True)
        elif event.get("method") == "Log.entryAdded":
            print(f"log: {parameters['entry']['text']}", file=sys.stderr, flush=True)
        elif event.get("method") == "Runtime.consoleAPICalled":
            words = " ".join(str(part.get("value", part.get("description"))) for part in parameters["args"])
            print(f"console: {words}", file=sys.stderr, flush=True)

    def evaluate(self, expression):
        result = self.call(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True,
            userGesture=True)
        if "exceptionDetails" in result:
            details = result["exceptionDetails"]
            raise RuntimeError(
                details.get("exception", {}).get("description") or details["text"])
        return result["result"].get("value")

    def perform(self, line):
        word, _, rest = line.partition(" ")
        if word == "open":
            self.call("Page.navigate", url=rest)
            return self.until(30, "document.readyState === 'complete'")
        if word == "evaluate":
            return self.evaluate(rest)
        if word == "until":
            seconds, _, expression = rest.partition(" ")
            return self.until(float(seconds), expression)
        if word == "picture":
            picture = self.call("Page.captureScreenshot", format="png")
            with open(rest, "wb") as file:
                file.write(base64.b64decode(picture["data"]))
            return True
        if word == "size":
            width, height = map(int, rest.split())
            self.call(
                "Emulation.setDeviceMetricsOverride", width=width, height=height,
                deviceScaleFactor=1, mobile=width < 600)
            return True
        raise ValueError(f"no command {word}")

    def until(self, seconds, expression):
        deadline = time.monotonic() + seconds
        while True:
            value = self.evaluate(expression)
            if value or time.monotonic() > deadline:
                return value
            time.sleep(0.1)

    def close(self):
        self.process.kill()
        self.process.wait()
        self.folder.cleanup()


def main():
    browser = Browser()
    try:
        for line in sys.stdin:
            try:
                answer = {"value": browser.perform(line.rstrip("\n"))}
            except (RuntimeError, ValueError, StopIteration) as error:
                answer = {"error": str(error)}
            print(json.dumps(answer), flush=True)
    finally:
        browser.close()


main()
