#!/usr/bin/env python3
"""A worker of the compute queue: counts the bytes of each input, and leaves their digests.

    worker.py SERVER DATASET...

SERVER is the address of a process with the role http, such as https://accession.example.org;
ACCESSION_KEY is the key of an operator. It needs Python's standard library only, and works
until it is stopped; then it gives back what it has. docs/compute.md says what each call does.
"""
import base64
import hashlib
import http.client
import json
import os
import signal
import sys
import threading
import time
import urllib.error
import urllib.request
import uuid

SERVER, DATASETS = sys.argv[1].rstrip("/"), sys.argv[2:]
KEY = os.environ["ACCESSION_KEY"]
LEASE = 30  # seconds
SILENCE = 20  # seconds without a byte after which a server does not answer
PIECE = 1 << 16  # bytes that are read at once
NO_ANSWER = (OSError, http.client.HTTPException)
stopped = threading.Event()


class Lost(Exception):
    """The lease has ended: the work is another worker's by now."""


class Stopped(Exception):
    """The worker is stopped."""


class Refused(Exception):
    """The service refuses a request, and would refuse it again."""

    def __init__(self, status, text):
        super().__init__(text)
        self.status = status


class Failed(Exception):
    """An attempt fails; the class says who must act."""

    def __init__(self, failure_class, text):
        super().__init__(text)
        self.failure_class = failure_class


class Busy(Exception):
    """There is no answer yet; the same request may be answered after a pause in seconds."""

    def __init__(self, text, pause=0.0):
        super().__init__(text)
        self.pause = pause


class NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows nothing: the key is for the service alone."""

    def redirect_request(self, *_):
        return None


service = urllib.request.build_opener(NoRedirect)


def send(path, data, content_type="application/json", method="POST", headers=(), silence=SILENCE):
    """Send a request to the service once, and return the JSON of its answer."""
    request = urllib.request.Request(SERVER + path, data=data, method=method, headers=dict(headers))
    request.add_header("Authorization", "Bearer " + KEY)
    request.add_header("Content-Type", content_type)
    try:
        with service.open(request, timeout=silence) as answer:
            return json.loads(answer.read())
    except urllib.error.HTTPError as error:
        with error:
            raise refusal(error) from None
    except (*NO_ANSWER, ValueError) as error:
        raise Busy(repr(error)) from None


def refusal(error):
    """Return what an answer that is no success means to a worker."""
    if error.code == 409:
        return Lost()
    if error.code in (408, 429) or error.code >= 500:
        asked = error.headers.get("Retry-After", "")
        return Busy(str(error), float(asked) if asked.isdecimal() else 0.0)
    try:
        text = json.loads(error.read())["detail"]
    except (*NO_ANSWER, ValueError, KeyError, TypeError):
        text = str(error)
    return Refused(error.code, text)


def insist(until, over, do):
    """Do what sends a request, again after a pause while it is not answered, until a time."""
    pause = 0.25
    while True:
        over()
        try:
            return do()
        except Busy as error:
            wait = max(pause, error.pause)
            if time.monotonic() + wait > until():
                raise
        if stopped.is_set():
            time.sleep(min(wait, 1))
        else:
            stopped.wait(wait)
        pause = min(2 * pause, 10)


class Work:
    """A piece of work that is the worker's while its lease lasts."""

    def __init__(self, taken):
        self.entry, self.inputs = taken["entry"], taken["inputs"]
        self.lease, self.path = taken["lease"], "/v1/compute/claims/" + taken["token"]
        self.ends = time.monotonic() + self.lease  # by the clock of this machine
        self.lost = self.refused = None  # what a heartbeat was answered
        self.ended = threading.Event()

    def __enter__(self):
        self.beats = threading.Thread(target=self.heartbeats, daemon=True)
        self.beats.start()
        return self

    def __exit__(self, *_):
        self.ended.set()

    def heartbeats(self):
        while not self.ended.wait(self.lease / 3):
            sent = time.monotonic()
            try:
                send(self.path + "/heartbeat", b"{}", silence=min(SILENCE, self.lease))
                self.ends = sent + self.lease
            except Busy:
                pass  # the next one may arrive
            except Lost as error:
                self.lost = error
                return
            except Refused as error:
                self.refused = error
                return

    def check(self):
        """Raise why the work is not to be gone on with. Long work calls it now and then."""
        if stopped.is_set():
            raise Stopped()
        if self.refused:
            raise self.refused
        if self.lost or time.monotonic() > self.ends:
            raise Lost()

    def put(self, name, content):
        """Leave a file beside the result."""
        digest = base64.b64encode(hashlib.sha256(content).digest()).decode()
        return insist(lambda: self.ends, self.check, lambda: send(
            self.path + "/outputs/" + name, content, "application/octet-stream", "PUT", {"Repr-Digest": "sha-256=:" + digest + ":"}))

    def end(self, verb, said):
        """Say how the work ends. What has ended it is answered as the first time when it is sent again."""
        data = json.dumps(said).encode()
        started = time.monotonic()
        # A worker that is stopped has 10 seconds; another one tries for a while after the lease too.
        return insist(lambda: started + 10 if stopped.is_set() else self.ends + self.lease,
                      lambda: None, lambda: send(self.path + "/" + verb, data, silence=5 if stopped.is_set() else SILENCE))

    def fail(self, failure_class, text, **more):
        text = " ".join("".join(c if c.isprintable() else " " for c in str(text)).split())[:500]
        return self.end("fail", {"class": failure_class, "message": text or "it gave no reason", **more})

    def fetch(self, one):
        """Return size and SHA-256 of an input. Those of the service are signed, and need no key."""
        ours = one["url"].startswith("/")
        url = SERVER + one["url"] if ours else one["url"]
        if not url.startswith(("http://", "https://")):
            raise Failed("content", one["name"] + " is not at a URL of HTTP")
        digest, size = hashlib.sha256(), 0
        try:
            with urllib.request.urlopen(url, timeout=SILENCE) as answer:
                length = answer.headers.get("Content-Length", "")
                while piece := answer.read(PIECE):
                    self.check()
                    digest.update(piece)
                    size += len(piece)
        except urllib.error.HTTPError as error:
            with error:
                if ours and error.code == 409:
                    raise Lost() from None
                if ours and (error.code in (408, 429) or error.code >= 500):
                    raise refusal(error) from None
                raise Failed("system", "%s is not there: %s" % (one["name"], error)) from None
        except NO_ANSWER as error:
            if ours:
                raise Busy("%s cannot be had: %r" % (one["name"], error)) from None
            raise Failed("system", "%s cannot be had: %s" % (one["name"], error)) from None
        if length.isdecimal() and int(length) != size:  # the connection broke off
            text = "only %d of %s bytes of %s came" % (size, length, one["name"])
            raise Busy(text) if ours else Failed("system", text)
        if one.get("sha256", "") not in ("", digest.hexdigest()):
            raise Failed("content", one["name"] + " is not what its SHA-256 says")
        return size, digest.hexdigest()

    def do(self):
        """Do the work and end it; return what became of it."""
        try:
            counted, sums = [], []
            for number, one in enumerate(self.inputs, 1):  # two may have the same name
                size, digest = insist(lambda: self.ends, self.check, lambda: self.fetch(one))
                counted.append({"input": number, "name": one["name"], "bytes": size})
                sums.append("%s  %d/%s\n" % (digest, number, one["name"]))
            self.put("SHA256SUMS", "".join(sums).encode())
            self.check()
            return self.end("complete", {"result": {"inputs": counted}})["status"]
        except Stopped:
            return self.fail("system", "the worker is stopped", given_back=True)["status"]
        except Failed as error:
            return self.fail(error.failure_class, error)["status"]
        except Refused as error:
            if error.status in (401, 403):
                raise
            return self.fail("system", error)["status"]


def main():
    waiting = False

    def stop(*_):
        stopped.set()
        if waiting:  # it has no work to give back
            sys.exit()

    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, stop)
    claim = json.dumps({"worker": "example", "datasets": DATASETS, "wait": 5, "lease": LEASE}).encode()
    pause, key = 0.5, str(uuid.uuid4())
    while not stopped.is_set():
        try:
            waiting = True
            taken = send("/v1/compute/claims", claim, headers={"Idempotency-Key": key})
            waiting = False
        except (Busy, Lost) as error:
            print("cannot take work:", error, file=sys.stderr, flush=True)
            stopped.wait(max(pause, getattr(error, "pause", 0)))
            pause = min(2 * pause, 30)
            continue
        pause, key = 0.5, str(uuid.uuid4())  # a claim that was not answered is sent again under its key
        if "token" in taken:
            with Work(taken) as work:
                print(taken["entry"], outcome(work), flush=True)


def outcome(work):
    """Do work, and return what became of it."""
    try:
        return work.do()
    except Lost:
        return "is another worker's by now"
    except Busy as error:
        return "has an end that is not known here: %s" % error
    except Refused as error:
        if error.status in (401, 403):
            raise
        return "has an end that the service refuses: %s" % error


try:
    main()
except Refused as why:  # such as for a key that is not good for this
    sys.exit("the service refuses: %s" % why)
