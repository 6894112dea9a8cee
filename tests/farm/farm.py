"""A farm for tests: dispatcher, proxy with faults and workers as processes that can be killed."""
import json
import os
import signal
import subprocess
import threading
import time


class Farm:
    """Folders and sockets are below `folder`. faults: percent of messages, 0 for no proxy. options:
    of the dispatcher. keys: options of who asks for its status."""

    def __init__(self, programs, folder, faults=0, seed=1, slots=2, options=(), verbose=True,
                 keys=()):
        self.programs, self.folder, self.slots = programs, folder, slots
        self.options = [*options, *(["-v"] if verbose else [])]
        self.verbose, self.keys = verbose, keys
        self.inner = f"ipc://{folder}/farm.socket"
        self.endpoint = f"ipc://{folder}/proxy.socket" if faults else self.inner
        self.lock = threading.Lock()
        self.dispatcher, self.proxy, self.workers, self.logs = None, None, {}, []
        self.started = 0
        self.start_dispatcher()
        if faults:
            with open(os.path.join(folder, "proxy.txt"), "w", encoding="utf-8") as counts:
                self.proxy = subprocess.Popen(
                    [self.path("fault_proxy"), self.endpoint, self.inner, str(faults), str(seed)],
                    stdout=counts)

    def path(self, program):
        return os.path.join(self.programs, program)

    def log_file(self, name):
        self.started += 1
        path = os.path.join(self.folder, f"{name}-{self.started}.log")
        self.logs.append(path)
        return open(path, "w", encoding="utf-8")

    def start_dispatcher(self):
        with self.lock, self.log_file("dispatcher") as log:
            self.dispatcher = subprocess.Popen(
                [self.path("sluice-farm"), "--bind", self.inner, "--state",
                 os.path.join(self.folder, "state"), "--log-format=json", *self.options],
                stderr=log)

    def start_worker(self, number, *options, programs=None):
        with self.lock, self.log_file("worker") as log:
            self.workers[number] = subprocess.Popen(
                [os.path.join(programs or self.programs, "sluice-worker"), "--connect",
                 self.endpoint, "--store", os.path.join(self.folder, f"worker-{number}"),
                 "--slots", str(self.slots), "--threads=1", "--log-format=json",
                 *(["-v"] if self.verbose else []), *options], stderr=log)

    def status(self):
        """The dispatcher's status; None when it does not answer."""
        done = subprocess.run([self.path("sluice-farm"), "status", "--json", self.inner,
                               *self.keys], capture_output=True, text=True)
        return json.loads(done.stdout) if done.returncode == 0 else None

    def kill_dispatcher(self):
        self.dispatcher.kill()
        self.dispatcher.wait()

    def kill_worker(self, number):
        self.workers[number].kill()
        self.workers[number].wait()

    def events(self, name):
        """The events of that name in all logs, as objects."""
        found = []
        for path in self.logs:
            with open(path) as file:
                for line in file:
                    if line.startswith("{"):
                        try:
                            event = json.loads(line)
                        except ValueError:  # the program was killed while it wrote
                            continue
                        if event["event"] == name:
                            found.append(event)
        return found

    def stop(self):
        processes = [*self.workers.values(), self.proxy, self.dispatcher]
        for process in processes:
            if process is not None and process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for process in processes:
            if process is not None:
                try:
                    process.wait(timeout=20)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()


def programs_with(programs, folder, name, script):
    """A folder of programs of which one is a shell script in place of that of `name`; "REAL" in the
    script is the path of that one."""
    os.makedirs(folder)
    for program in os.listdir(programs):
        path = os.path.join(programs, program)
        if os.path.isfile(path):
            os.link(path, os.path.join(folder, program))
    real = os.path.join(folder, "real-" + name)
    os.rename(os.path.join(folder, name), real)
    with open(os.path.join(folder, name), "w") as file:
        file.write("#!/bin/sh\n" + script.replace("REAL", real))
    os.chmod(os.path.join(folder, name), 0o755)
    return folder


def wait_until(condition, seconds=30):
    """Whether the condition came true."""
    end = time.time() + seconds
    while time.time() < end:
        if condition():
            return True
        time.sleep(0.05)
    return False
