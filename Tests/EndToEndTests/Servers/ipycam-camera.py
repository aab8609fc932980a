#!/usr/bin/env python3
"""The services of ipycam (PyPI), a camera by others, whose stream is served elsewhere.

It wants a login for everything, even for its clock, and answers WS-Discovery. Prints `ready PORT`
once it answers. Of ipycam only the services are loaded, which need nothing else.
"""

import argparse
import http.server
import importlib.util
import re
import sys
import threading
import time
import types

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("port", type=int, help="of the stream, rtsp://127.0.0.1:PORT/stream")
parser.add_argument("--user", default="")
parser.add_argument("--password", default="")
options = parser.parse_args()
package = importlib.util.find_spec("ipycam")
if not package:
    sys.exit("there is no ipycam; `tools/setup test` installs it from PyPI")
# The package itself would load OpenCV.
sys.modules["ipycam"] = types.ModuleType("ipycam")
sys.modules["ipycam"].__path__ = package.submodule_search_locations

from ipycam.config import CameraConfig  # noqa: E402
from ipycam.discovery import WSDiscoveryServer  # noqa: E402
from ipycam.onvif import ONVIFService  # noqa: E402

config = CameraConfig(local_ip="127.0.0.1", rtsp_port=options.port, main_stream_name="stream")
config.set_credentials(options.user, options.password)
service = ONVIFService(config)


class Services(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        if service.verify_usernametoken(body):
            name = re.search(r"Body><(\w+)", body).group(1)
            status, text = 200, service.handle_action(name, body)
        else:
            status, text = 401, service.fault("Sender not authorized")
        data = text.encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Services)
config.onvif_port = server.server_address[1]
WSDiscoveryServer(service).start()
threading.Thread(target=server.serve_forever, daemon=True).start()
print("ready %d" % config.onvif_port, flush=True)
while True:
    time.sleep(3600)
