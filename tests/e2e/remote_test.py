#!/usr/bin/python3
"""sluice compile, compile-all and job with --remote: what one store has made another one finds,
with the same bytes, over nginx; and whatever a server does, a compile succeeds with the right
bytes, in bounded time and with one warning.

usage: remote_test.py FOLDER_OF_PROGRAMS [unittest arguments]

The tests with nginx end as skipped where it is missing.
"""
import base64
import contextlib
import hashlib
import http.server
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from programs import ProgramCase, bytes_of, need
from store_test import STAGES, StoreCase, make_model

NGINX = shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin")
os.environ["NO_PROXY"] = os.environ["no_proxy"] = "*"
CONFIGURATION = """
%(user)sdaemon off; pid %(folder)s/pid; error_log %(folder)s/error.log;
events {}
http {
  access_log %(folder)s/access.log;
  client_body_temp_path %(folder)s/body; proxy_temp_path %(folder)s/proxy;
  fastcgi_temp_path %(folder)s/fastcgi; uwsgi_temp_path %(folder)s/uwsgi;
  scgi_temp_path %(folder)s/scgi;
  client_max_body_size 0;
  server {
    listen 127.0.0.1:%(port)d;
    location / { root %(folder)s/files; dav_methods PUT DELETE; create_full_put_path on; }
    location /read/ { alias %(folder)s/files/; }
    location /closed/ {
      alias %(folder)s/files/; dav_methods PUT; create_full_put_path on;
      auth_basic "store"; auth_basic_user_file %(folder)s/users;
    }
  }
}
"""


def free_port():
    with socket.socket() as any_port:
        any_port.bind(("127.0.0.1", 0))
        return any_port.getsockname()[1]


class RemoteCase(StoreCase):
    def setUp(self):
        super().setUp()
        self.expected = self.compiled()
        self.ieee = self.compiled("--denormals=ieee")
        self.stores = 0

    def another_store(self):
        self.stores += 1
        self.store = self.path("store-%d" % self.stores)

    def found_with(self, url, *options, warning=None, **more):
        """The stages found by a compile in an empty store, which says the warning or nothing."""
        self.another_store()
        found = self.found("--remote", url, *options, expected=self.expected, warns=True, **more)
        reported = [line for line in self.warnings if "remote" in line or "store" in line]
        self.assertEqual(len(reported), 1 if warning else 0, self.warnings)
        if warning:
            self.assertIn("warning the remote store 'http", reported[0])
            self.assertIn(warning, reported[0])
        self.assertEqual(self.unfinished(), [])
        return found

    def unfinished(self):
        return self.files("partial") + self.files("locks")


@unittest.skipUnless(NGINX, "there is no nginx here")
class NginxTest(RemoteCase):
    def setUp(self):
        super().setUp()
        self.served = self.path("nginx")
        os.makedirs(os.path.join(self.served, "files"))
        with open(os.path.join(self.served, "users"), "w", encoding="utf-8") as file:
            digest = base64.b64encode(hashlib.sha1(b"s3c:ret").digest()).decode()
            file.write("me:{SHA}%s\n" % digest)
        port = free_port()
        user = "user root; " if os.geteuid() == 0 else ""
        with open(os.path.join(self.served, "conf"), "w", encoding="utf-8") as file:
            file.write(CONFIGURATION % {"folder": self.served, "port": port, "user": user})
        self.server = subprocess.Popen(
            [NGINX, "-p", self.served, "-c", os.path.join(self.served, "conf"), "-e",
             os.path.join(self.served, "error.log")], stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.stop)
        self.host = "127.0.0.1:%d" % port
        self.url = "http://" + self.host
        for _ in range(100):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                return
            time.sleep(0.05)
        self.fail("nginx does not start: " + self.server.stderr.read())

    def stop(self):
        self.server.terminate()
        self.server.communicate(timeout=30)

    def remote_files(self):
        top = os.path.join(self.served, "files")
        return sorted(os.path.relpath(os.path.join(folder, name), top)
                      for folder, _, names in os.walk(top) for name in names)

    def test_an_empty_store_finds_what_another_made(self):
        self.assertEqual(self.found_with(self.url), [])
        self.assertEqual(self.found_with(self.url + "/"), STAGES)
        kept = [os.path.relpath(path, self.store) for path in self.files()]
        self.assertEqual(len([name for name in kept if name.startswith("records")]), len(STAGES))
        self.assertEqual(len(kept), len(STAGES) + 1, "of the artifacts only the model is fetched")
        self.assertEqual(set(kept) - set(self.remote_files()), set())
        self.found(expected=self.expected)
        self.assertEqual(self.found(expected=self.expected), STAGES, "without a remote store, too")

    def test_the_layout_is_that_of_a_folder(self):
        self.found_with(self.url)
        for name in self.remote_files():
            data = bytes_of(os.path.join(self.served, "files", name))
            self.assertTrue(data == bytes_of(os.path.join(self.store, name)), name)
        self.assertEqual(len(self.remote_files()), 2 * len(STAGES))
        self.store = os.path.join(self.served, "files")
        self.assertEqual(self.found(expected=self.expected), STAGES)

    def test_what_is_made_from_what_was_found(self):
        self.found_with(self.url)
        self.another_store()
        self.assertEqual(self.found("--denormals=ieee", "--remote", self.url, expected=self.ieee),
                         STAGES[:3])
        self.another_store()
        self.assertEqual(self.found("--denormals=ieee", "--remote", self.url, expected=self.ieee),
                         STAGES)

    def test_two_push_at_once(self):
        processes = []
        for i in range(4):
            self.another_store()
            processes.append(subprocess.Popen(
                [os.path.join(self.programs, "sluice-compile"), self.model, "-o",
                 self.path("%d.om" % i), self.profile, "--store", self.store, "--remote", self.url,
                 "-q"], stderr=subprocess.PIPE, text=True))
        for process in processes:
            errors = process.communicate(timeout=300)[1]
            self.assertEqual((process.returncode, errors), (0, ""))
        for i in range(4):
            self.assertTrue(bytes_of(self.path("%d.om" % i)) == self.expected)
        self.assertEqual(len(self.remote_files()), 2 * len(STAGES))
        self.assertEqual(self.found_with(self.url), STAGES)

    def test_two_with_one_folder_fetch_at_once(self):
        self.found_with(self.url)
        self.another_store()
        processes = [subprocess.Popen(
            [os.path.join(self.programs, "sluice-compile"), self.model, "-o",
             self.path("%d.om" % i), self.profile, "--store", self.store, "--remote", self.url,
             "--progress=json"], stderr=subprocess.PIPE, text=True) for i in range(4)]
        for process in processes:
            errors = process.communicate(timeout=300)[1]
            self.assertEqual(process.returncode, 0, errors)
            self.assertEqual(errors.count('"found":true'), len(STAGES), errors)
        self.assertEqual(self.unfinished(), [])

    def test_every_damaged_and_every_missing_file(self):
        """Its bytes are never used, and it is there again afterwards."""
        self.found_with(self.url)
        for name in self.remote_files():
            path = os.path.join(self.served, "files", name)
            for how in ["flipped", "cut", "empty", "missing"]:
                with self.subTest(how, name=name):
                    if how == "missing":
                        os.unlink(path)
                    else:
                        self.damage(path, how)
                    self.another_store()
                    self.found("--remote", self.url, "--denormals=ieee", expected=self.ieee,
                               warns=True)
                    self.another_store()
                    self.found("--remote", self.url, expected=self.expected, warns=True)
        self.assertEqual(self.found_with(self.url), STAGES)

    def test_a_login(self):
        closed = "http://me:s3c%%3aret@%s/closed" % self.host
        self.assertEqual(self.found_with(closed), [])
        self.assertEqual(self.found_with(closed), STAGES)
        for wrong in ["me:secret@", ""]:
            url = "http://%s%s/closed" % (wrong, self.host)
            self.assertEqual(self.found_with(url, warning="answers 401 to GET /records/"), [])
            self.assertNotIn("secret", "".join(self.warnings))

    def test_a_login_in_netrc(self):
        with open(self.path(".netrc"), "w", encoding="utf-8") as file:
            file.write("machine 127.0.0.1 login me password s3c:ret\n")
        home, os.environ["HOME"] = os.environ.get("HOME", "/"), self.folder
        try:
            self.found_with("http://%s/closed" % self.host)
            self.assertEqual(self.found_with("http://%s/closed" % self.host), STAGES)
        finally:
            os.environ["HOME"] = home

    def test_a_server_that_takes_nothing(self):
        self.found_with(self.url + "/read", warning="answers 405 to PUT /")
        self.assertEqual(self.remote_files(), [])
        self.found_with(self.url)
        self.assertEqual(self.found_with(self.url + "/read"), STAGES)

    def test_compile_all_tells_that_jobs_cannot_send(self):
        with open(self.path("manifest.json"), "w", encoding="utf-8") as file:
            json.dump({"matrix": {"models": ["model.onnx"], "dims": [["N=1"], ["N=2"], ["N=3"]],
                                  "output": "{dims}.om"}}, file)
        for quiet in [[], ["-q"]]:
            self.another_store()
            done = subprocess.run(
                [os.path.join(self.programs, "sluice-compile-all"), self.path("manifest.json"),
                 "--store", self.store, "--remote", self.url + "/read", "-o", self.path("out"),
                 *quiet], capture_output=True, text=True, timeout=300)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(done.stderr.count("answers 405 to PUT /"), 0 if quiet else 1,
                             done.stderr)

    def test_sluice_cache_knows_what_was_fetched(self):
        """Artifacts that were not needed are no damage, and what is left of a transfer goes."""
        self.found_with(self.url)
        self.assertEqual(self.found_with(self.url), STAGES)
        os.makedirs(os.path.join(self.store, "partial"), exist_ok=True)
        with open(os.path.join(self.store, "partial", "0" * 64), "wb") as file:
            file.write(b"old")
        os.utime(file.name, (1, 1))
        self.program(0, "sluice-cache", "verify", self.store)
        self.program(0, "sluice-cache", "gc", self.store)
        self.assertFalse(os.path.exists(file.name))
        self.assertEqual(self.found("--remote", self.url, expected=self.expected), STAGES)

    def test_a_model_cache(self):
        self.found_with(self.url)
        os.mkdir(self.path("cache"))
        done = self.run_compile(self.model, self.path("cached.om"), self.profile,
                                "--progress=json", "--graph-key=net", "--remote", self.url,
                                "--graph-compiler-cache-dir=" + self.path("cache"))
        self.assertEqual((done.returncode, done.stderr.count('"found":true')), (0, len(STAGES)))

    def test_a_store_that_cannot_be_written(self):
        self.found_with(self.url)
        self.store = self.path("file")
        with open(self.store, "w", encoding="utf-8") as file:
            file.write("no folder")
        self.found("--remote", self.url, expected=self.expected, warns=True)
        self.assertEqual(len(self.warnings), 1, self.warnings)

    def test_compile_all_and_its_jobs(self):
        manifest = self.path("manifest.json")
        make_model(self.path("b.onnx"), axis=0)
        with open(manifest, "w", encoding="utf-8") as file:
            json.dump({"options": {"profile": "cpu-generic"},
                       "matrix": {"models": ["model.onnx", "b.onnx"], "dims": [["N=1"], ["N=2"]],
                                  "output": "{model}-{dims}.om"}}, file)
        for status in ["made", "found"]:
            self.another_store()
            done = subprocess.run(
                [os.path.join(self.programs, "sluice-compile-all"), manifest, "--store", self.store,
                 "--remote", self.url, "-o", self.path("out-" + status), "--result",
                 self.path("result.json")], capture_output=True, text=True, timeout=300)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertNotIn("warning", done.stderr)
            with open(self.path("result.json"), encoding="utf-8") as file:
                rows = json.load(file)["compiles"]
            self.assertEqual([row["status"] for row in rows], [status] * 4)
        for row in rows:
            self.assertTrue(bytes_of(row["output"]) ==
                            bytes_of(row["output"].replace("out-found", "out-made")))
        self.assertFalse([name for name in self.remote_files() if "jobs" in name])
        self.check_one_job(rows[0]["key"])

    def check_one_job(self, key):
        """A job whose product only the remote store has, and one that no store has."""
        path = os.path.join("records", key[:2], key)
        command = [os.path.join(self.programs, "sluice-job"), "--store", self.store, "--remote",
                   self.url, key]
        os.unlink(os.path.join(self.store, path))
        self.assertIn("found", subprocess.run(command, capture_output=True, text=True,
                                              timeout=300).stderr)
        os.unlink(os.path.join(self.store, path))
        os.unlink(os.path.join(self.served, "files", path))
        self.assertIn("made", subprocess.run(command, capture_output=True, text=True,
                                             timeout=300).stderr)
        self.assertIn(path, self.remote_files())


class Handler(http.server.BaseHTTPRequestHandler):
    """A server of files in memory; `server.misbehave(self, method, name)` may answer instead."""
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body=b"", length=None, **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def handle_one(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.requests.append((self.command, self.path, dict(self.headers)))
        if self.server.misbehave(self, self.command, self.path):
            return
        files = self.server.files
        if self.command == "PUT":
            if self.headers.get("If-None-Match") == "*" and self.path in files:
                return self.answer(412)
            files[self.path] = body
            return self.answer(201)
        if self.path not in files:
            return self.answer(404, b"nothing here")
        return self.send_file(files[self.path])

    def send_file(self, data, cut=None, etag=None):
        """The file, or the range that is asked for; `cut`: bytes after which it breaks off."""
        tag = etag or '"%s"' % hashlib.sha1(data).hexdigest()
        status, headers, whole = 200, {"ETag": tag}, len(data)
        start = self.headers.get("Range")
        if start and self.headers.get("If-Range") == tag:
            begin = int(start[len("bytes="):-1])
            status, data = 206, data[begin:]
            headers["Content_Range"] = "bytes %d-%d/%d" % (begin, whole - 1, whole)
        if cut is None or cut >= len(data):
            return self.answer(status, data, **headers)
        self.answer(status, data[:cut], length=len(data), **headers)
        self.close_connection = True
        return None

    def do_GET(self):
        with contextlib.suppress(ConnectionError):
            self.handle_one()

    do_HEAD = do_PUT = do_GET


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files, self.requests = {}, []
        self.misbehave = lambda handler, method, name: False

    def handle_error(self, *_):
        """Clients go away in the middle."""


class PythonServerCase(RemoteCase):
    def setUp(self):
        super().setUp()
        self.server = self.serve()
        self.url = "http://127.0.0.1:%d/some/place" % self.server.server_port

    def serve(self):
        server = Server()
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return server

    def behave(self):
        self.server.misbehave = lambda handler, method, name: False

    def fill(self):
        """Puts the products of the model into the server."""
        self.behave()
        self.assertEqual(self.found_with(self.url), [])
        self.assertEqual(len(self.server.files), 2 * len(STAGES))
        self.server.requests.clear()
        name, = [name for name, data in self.server.files.items() if data == self.expected]
        return name

    def misbehave(self, answer, method="GET", place=""):
        self.server.misbehave = lambda handler, asked, name: (
            asked == method and place in name and (answer(handler), True)[1])

    def seen(self, method, **headers):
        return [name for asked, name, given in self.server.requests
                if asked == method and all(given.get(key.replace("_", "-")) == value
                                           for key, value in headers.items())]


class MisbehavingTest(PythonServerCase):
    def test_what_is_asked_and_sent(self):
        model = self.fill()
        self.assertEqual(self.found_with(self.url), STAGES)
        asked = self.seen("GET")
        self.assertEqual(len(asked), len(STAGES) + 1)
        self.assertIn(model, asked)
        self.assertEqual(self.seen("PUT"), [])

    def test_artifacts_are_sent_before_their_records(self):
        self.found_with(self.url)
        self.assertEqual(len(self.seen("GET")), len(STAGES), "each record is asked for once")
        sent = self.seen("PUT", If_None_Match="*")
        self.assertEqual(len(sent), 2 * len(STAGES))
        for artifact, record in zip(sent[::2], sent[1::2]):
            self.assertIn("/records/", record)
            digest = os.path.basename(artifact).encode()
            self.assertIn(b"output " + digest, self.server.files[record])

    def test_no_record_is_sent_when_its_artifact_was_not_taken(self):
        taken = []

        def take_two(handler, method, name):
            if method != "PUT" or len(taken) < 2:
                taken.append(name) if method == "PUT" else None
                return False
            handler.answer(507)
            return True
        self.server.misbehave = take_two
        self.found_with(self.url, warning="answers 507 to PUT /")
        self.assertEqual(len(self.server.files), 2)

    def test_a_large_artifact_is_asked_for_first(self):
        model = make_model(self.path("wide.onnx"), width=2000)
        wide = self.compiled(model=model)
        for sent in [2 * len(STAGES), len(STAGES) + 1]:
            self.server.requests.clear()
            self.another_store()
            self.found("--remote", self.url, model=model, expected=wide)
            heads = self.seen("HEAD")
            self.assertGreater(len(heads), 0)
            for name in heads:
                self.assertGreaterEqual(len(self.server.files[name]), 65536)
            self.assertEqual(len(self.seen("PUT")) + (len(heads) if sent < 8 else 0),
                             2 * len(STAGES))
            for name in [name for name in self.server.files if "/records/" in name]:
                del self.server.files[name]

    def test_a_server_that_knows_no_conditions(self):
        def refuse(handler, method, name):
            if method == "PUT" and handler.headers.get("If-None-Match"):
                handler.answer(501)
                return True
            return False
        self.server.misbehave = refuse
        self.found_with(self.url)
        self.assertEqual(self.found_with(self.url), STAGES)

    def test_statuses(self):
        self.fill()
        for status in [301, 302, 307, 400, 401, 403, 429, 500, 503]:
            with self.subTest(status):
                elsewhere = {"Location": self.url + "/records/"} if status < 400 else {}
                self.misbehave(lambda handler: handler.answer(status, b"x", **elsewhere))
                self.server.requests.clear()
                reported = "answers %d to GET" % status
                self.assertEqual(self.found_with(self.url, warning=reported), [])
                self.assertEqual(len(self.seen("GET")), 1, "it is not asked again")

    def test_a_redirection_gets_no_login(self):
        self.fill()
        other = self.serve()
        self.misbehave(lambda handler: handler.answer(
            302, Location="http://127.0.0.1:%d%s" % (other.server_port, handler.path)))
        self.found_with(self.url.replace("//", "//me:secret@"), warning="not followed")
        self.assertNotIn("secret", "".join(self.warnings))
        self.assertEqual(other.requests, [])

    def test_wrong_bytes_of_every_file(self):
        self.fill()
        for name, data in list(self.server.files.items()):
            for wrong in [b"", data[:len(data) // 2], data[:-1] + b"?", data + b"?", b"x" * 99]:
                with self.subTest(name=name, bytes=len(wrong)):
                    self.server.files[name] = wrong
                    self.another_store()
                    self.found("--remote", self.url, expected=self.expected, warns=True)
                    self.assertLessEqual(len(self.warnings), 1, self.warnings)
                    self.server.files[name] = data
        self.assertEqual(self.found_with(self.url), STAGES)

    def test_wrong_bytes_of_the_model_are_told_once_and_replaced(self):
        model = self.fill()
        self.server.files[model] = self.expected[:-1] + b"?"
        self.assertEqual(self.found_with(self.url, warning="has damaged bytes"), STAGES[:3])
        self.assertTrue(self.server.files[model] == self.expected)

    def lie(self, data):
        """Lets the record of the model name other bytes, which are there under their digest."""
        model = self.fill()
        digest = hashlib.sha256(data).hexdigest()
        old = os.path.basename(model)
        for name, text in self.server.files.items():
            if "/records/" in name and b"output " + old.encode() in text:
                text = text.replace(old.encode(), digest.encode())
                body = text[:text.rindex(b"sum ")]
                self.server.files[name] = body + b"sum %s\n" % hashlib.sha256(
                    body).hexdigest().encode()
                break
        self.server.files["/some/place/%s/%s" % (digest[:2], digest)] = data
        return name, digest

    def test_a_record_that_names_no_model_or_one_that_does_not_verify(self):
        graph = self.path("graph.sg")
        self.program(0, "sluice-compile", self.model, "-o", graph, "-q", "--stop-after=partition")
        graph = bytes_of(graph)
        damaged = bytearray(self.expected)
        damaged[700] ^= 1
        for data in [b"", b"no model", self.expected[:-4096], bytes(damaged), graph]:
            with self.subTest(bytes=len(data)):
                self.server.files.clear()
                record, digest = self.lie(data)
                lie = self.server.files[record]
                found = self.found_with(self.url, warning="has a model that does not verify")
                self.assertEqual(found, STAGES[:3])
                self.assertFalse([path for path in self.files() if path.endswith(digest)])
                self.assertNotEqual(self.server.files[record], lie, "the record is replaced")
                self.assertEqual(self.found_with(self.url), STAGES)

    def test_a_record_that_names_an_artifact_that_is_here(self):
        """Which is then no reason to use it."""
        self.lie(bytes_of(self.model))
        self.another_store()
        data = bytes_of(self.model)
        digest = hashlib.sha256(data).hexdigest()
        os.makedirs(os.path.join(self.store, digest[:2]))
        shutil.copy(self.model, os.path.join(self.store, digest[:2], digest))
        self.assertEqual(self.found("--remote", self.url, expected=self.expected, warns=True),
                         STAGES[:3])
        self.assertIn("does not verify", self.warnings[0])


class TransferTest(PythonServerCase):
    """Transfers that are cut off go on where they were."""

    def cut(self, model, bytes_at_once, etag=lambda: None, times=1000):
        left = [times]

        def answer(handler, method, name):
            if method != "GET" or name != model or left[0] == 0:
                return False
            left[0] -= 1
            handler.send_file(self.server.files[name], bytes_at_once, etag())
            return True
        self.server.misbehave = answer

    def ranges(self, model):
        return [given.get("Range") for method, name, given in self.server.requests
                if method == "GET" and name == model]

    def test_it_goes_on(self):
        model = self.fill()
        third = len(self.expected) // 3 + 1
        self.cut(model, third)
        self.assertEqual(self.found_with(self.url), STAGES)
        self.assertEqual(self.ranges(model), [None, "bytes=%d-" % third, "bytes=%d-" % (2 * third)])

    def test_it_goes_on_in_the_next_run(self):
        model = self.fill()
        tenth = len(self.expected) // 10 + 1
        self.cut(model, tenth)
        self.another_store()
        self.found("--remote", self.url, expected=self.expected, warns=True)
        self.assertIn("did not finish GET /", self.warnings[-1])
        self.assertEqual(len(self.ranges(model)), 5)
        digest = os.path.basename(model)
        self.assertEqual([os.path.basename(path) for path in self.files("partial")],
                         [digest, digest + ".etag"])
        for path in self.files():  # what the compile then made itself
            if "/partial/" not in path:
                os.unlink(path)
        self.assertEqual(self.found("--remote", self.url, expected=self.expected), STAGES)
        self.assertEqual(self.ranges(model)[5], "bytes=%d-" % (5 * tenth))
        self.assertEqual(self.unfinished(), [])

    def test_a_changed_object_is_not_glued_together(self):
        model = self.fill()
        tags = iter('"%d"' % i for i in range(100))
        self.cut(model, len(self.expected) // 3 + 1, lambda: next(tags), times=2)
        self.assertEqual(self.found_with(self.url), STAGES)
        self.assertEqual(len(self.ranges(model)), 3)

    def test_other_bytes_under_the_same_etag(self):
        model = self.fill()
        half = len(self.expected) // 2
        whole = [self.expected, b"?" * len(self.expected)]

        def answer(handler, method, name):
            if method != "GET" or name != model:
                return False
            handler.send_file(whole.pop(0), half if len(whole) == 1 else None, '"same"')
            return True
        self.server.misbehave = answer
        self.assertEqual(self.found_with(self.url, warning="has damaged bytes"), STAGES[:3])

    def test_without_an_etag_it_starts_anew(self):
        model = self.fill()
        self.cut(model, len(self.expected) // 3, lambda: 'W/"weak"', times=2)
        self.assertEqual(self.found_with(self.url), STAGES)
        self.assertEqual(self.ranges(model), [None] * 3)

    def test_a_range_that_was_not_asked_for(self):
        model = self.fill()
        data = self.expected[100:]
        self.misbehave(lambda handler: handler.answer(206, data, Content_Range="bytes 100-%d/%d" % (
            len(self.expected) - 1, len(self.expected))), place=os.path.basename(model))
        self.found_with(self.url, warning="it sends another range")

    def test_an_object_that_became_shorter(self):
        model = self.fill()
        digest = os.path.basename(model)
        self.another_store()
        os.makedirs(os.path.join(self.store, "partial"))
        for name, text in [(digest, b"?" * 2 * len(self.expected)), (digest + ".etag", b'"x"')]:
            with open(os.path.join(self.store, "partial", name), "wb") as file:
                file.write(text)
        self.server.misbehave = lambda handler, method, name: bool(
            handler.headers.get("Range")) and (handler.answer(416), True)[1]
        self.assertEqual(self.found("--remote", self.url, expected=self.expected), STAGES)
        self.assertEqual(self.unfinished(), [])

    def test_endless_bodies(self):
        self.fill()

        def endless(handler):
            handler.send_response(200)
            handler.send_header("Connection", "close")
            handler.end_headers()
            handler.close_connection = True
            while True:
                handler.wfile.write(b"x" * 65536)

        def long(handler):
            handler.answer(200, b"x" * 100000, length=1 << 50)
        for place in ["/records/", ""]:
            for answer in [endless, long]:
                with self.subTest(answer.__name__, place=place):
                    model = None if place else lambda name: "/records/" not in name
                    self.server.misbehave = lambda handler, method, name: (
                        method == "GET" and ("/records/" in name if place else model(name)) and
                        (answer(handler), True)[1])
                    self.found_with(self.url, warning="did not finish GET /")

    def test_an_endless_body_of_an_error(self):
        def endless(handler):
            handler.send_response(500)
            handler.end_headers()
            while True:
                handler.wfile.write(b"x" * 65536)
        self.misbehave(endless)
        self.found_with(self.url, warning="answers 500 to GET")

    def test_an_interrupt_ends_a_transfer(self):
        model = self.fill()
        come = threading.Event()

        def slow(handler):
            handler.send_response(200)
            handler.send_header("ETag", '"%s"' % hashlib.sha1(self.expected).hexdigest())
            handler.send_header("Content-Length", str(len(self.expected)))
            handler.end_headers()
            handler.wfile.write(self.expected[:1000])
            come.set()
            time.sleep(30)
        self.misbehave(slow, place=os.path.basename(model))
        self.another_store()
        process = subprocess.Popen(
            [os.path.join(self.programs, "sluice-compile"), self.model, "-o", self.path("x.om"),
             self.profile, "--store", self.store, "--remote", self.url], stderr=subprocess.PIPE)
        self.assertTrue(come.wait(60))
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        errors = process.communicate(timeout=8)[1]
        self.assertEqual(process.returncode, -signal.SIGINT, errors)
        self.assertNotIn(b"warning", errors)
        self.assertFalse(os.path.exists(self.path("x.om")))
        self.behave()
        self.assertEqual(self.found("--remote", self.url, expected=self.expected), STAGES)
        self.assertEqual(self.ranges(model)[-1], "bytes=1000-")


class GoneTest(PythonServerCase):
    """A server that does not answer is asked once."""

    def timed(self, url, limit, warning="does not answer: "):
        begin = time.monotonic()
        self.assertEqual(self.found_with(url, warning=warning), [])
        self.assertLess(time.monotonic() - begin, limit)

    def test_nobody_listens(self):
        self.timed("http://127.0.0.1:%d/" % free_port(), 60)

    def test_a_host_that_does_not_exist(self):
        self.timed("http://no.such.host.invalid/", 60)

    def test_nobody_accepts(self):
        """Connections wait in the queue of a socket that is full."""
        with socket.socket() as full, contextlib.ExitStack() as others:
            full.bind(("127.0.0.1", 0))
            full.listen(0)
            for _ in range(4):
                other = others.enter_context(socket.socket())
                other.setblocking(False)
                other.connect_ex(full.getsockname())
            self.timed("http://127.0.0.1:%d/" % full.getsockname()[1], 60)

    def test_nobody_speaks(self):
        with socket.socket() as silent:
            silent.bind(("127.0.0.1", 0))
            silent.listen(100)
            self.timed("http://127.0.0.1:%d/" % silent.getsockname()[1], 60)

    def test_a_body_that_stalls(self):
        self.fill()

        def stall(handler):
            handler.send_response(200)
            handler.send_header("Content-Length", "1000000")
            handler.end_headers()
            for _ in range(1000):
                handler.wfile.write(b"x")
                handler.wfile.flush()
                time.sleep(0.5)
        self.misbehave(stall)
        self.timed(self.url, 60, "did not finish GET /records/")
        self.assertEqual(len(self.server.requests), 1)

    def test_nonsense(self):
        for text in [b"", b"\r\n\r\n", b"HTTP/1.1 \r\n\r\n", b"HTTP/1.1 000 x\r\n\r\n",
                     b"x" * 100000, b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nx",
                     b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\nx",
                     b"HTTP/1.1 206 OK\r\nContent-Range: bytes x-\r\n\r\nx",
                     b"HTTP/1.1 200 OK\r\nETag: \"" + b"e" * 200000 + b"\"\r\n\r\nx"]:
            with self.subTest(text[:60]):
                self.misbehave(lambda handler: (handler.wfile.write(text), setattr(
                    handler, "close_connection", True)))
                self.another_store()
                self.assertEqual(
                    self.found("--remote", self.url, expected=self.expected, warns=True), [])
                self.assertEqual(len(self.warnings), 1, self.warnings)

    def test_a_certificate_of_nobody(self):
        key, certificate = self.path("key.pem"), self.path("certificate.pem")
        done = subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out",
             certificate, "-days", "2", "-subj", "/CN=localhost", "-addext",
             "subjectAltName=IP:127.0.0.1"], capture_output=True, text=True)
        if done.returncode != 0:
            self.skipTest("no certificate can be made here")
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(certificate, key)
        self.server.socket = tls.wrap_socket(self.server.socket, server_side=True)
        self.timed(self.url.replace("http:", "https:"), 60, "certificate")
        self.assertEqual(self.server.requests, [])

    def test_compile_all_waits_once(self):
        with socket.socket() as silent:
            silent.bind(("127.0.0.1", 0))
            silent.listen(100)
            manifest = self.path("manifest.json")
            with open(manifest, "w", encoding="utf-8") as file:
                json.dump({"options": {"profile": "cpu-generic"}, "matrix": {
                    "models": ["model.onnx"], "dims": [["N=%d" % i] for i in range(1, 9)],
                    "output": "{dims}.om"}}, file)
            begin = time.monotonic()
            done = subprocess.run(
                [os.path.join(self.programs, "sluice-compile-all"), manifest, "--store", self.store,
                 "-o", self.path("out"), "--remote",
                 "http://127.0.0.1:%d" % silent.getsockname()[1]], capture_output=True, text=True,
                timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr.count("does not answer"), 1, done.stderr)
        self.assertLess(time.monotonic() - begin, 60)


class OptionTest(RemoteCase):
    def test_what_is_no_url(self):
        for url in ["ftp://me:secret@host/", "me:secret@host", "http://me:secret@", "x"]:
            with self.subTest(url):
                done = self.run_compile(self.model, self.path("x.om"), "--store", self.store,
                                        "--remote", url)
                self.assertEqual(done.returncode, 3, done.stderr)
                self.assertIn("error SL1006: --remote is '", done.stderr)
                self.assertNotIn("secret", done.stderr)

    def test_without_a_store(self):
        done = self.run_compile(self.model, self.path("x.om"), "--remote", "http://host/")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("--remote is for a compile with --store", done.stderr)

    def test_a_login_is_not_for_slurm(self):
        with open(self.path("manifest.json"), "w", encoding="utf-8") as file:
            json.dump({"compiles": [{"model": "model.onnx"}]}, file)
        done = subprocess.run(
            [os.path.join(self.programs, "sluice-compile-all"), self.path("manifest.json"),
             "--store", self.store, "--provider=slurm", "--remote", "http://me:secret@host/"],
            capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn(".netrc", done.stderr)
        self.assertNotIn("secret", done.stderr)

    def test_the_library_is_opened_by_those_who_ask(self):
        done = subprocess.run(["ldd", os.path.join(self.programs, "sluice-compile")],
                              capture_output=True, text=True, check=True)
        self.assertNotIn("curl", done.stdout)


if __name__ == "__main__":
    if not NGINX:
        print("there is no nginx here: its tests are skipped")
    ProgramCase.programs = need(sys.argv.pop(1), ["cache", "compile", "compile-all", "job",
                                                  "subgraph-optimize", "build", "verify"])
    unittest.main()
