#!/usr/bin/env python3
"""A worker of the compute queue: counts the bytes of each input, and leaves their digests.

    worker.py SERVER DATASET...

SERVER is the address of a process with the role http, such as https://accession.example.org;
ACCESSION_KEY is the key of an operator. It needs Python's standard library only, and works
until it is stopped. docs/compute.md says what each call does.
"""
import base64
import hashlib
import json
import os
import signal
import sys
import threading
import urllib.error
import urllib.request

SERVER, DATASETS = sys.argv[1].rstrip("/"), sys.argv[2:]
KEY = os.environ["ACCESSION_KEY"]
LEASE = 30  # seconds
stopped = threading.Event()


def call(path, body=None):
    """Send a request, and return the answer; None if the lease has ended (409)."""
    request = urllib.request.Request(SERVER + path, headers={"Authorization": "Bearer " + KEY})
    if body is not None:
        request.data = json.dumps(body).encode()
        request.add_header("Content-Type", "application/json")
    try:
        with urllib.request.urlopen(request, timeout=90) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        if error.code == 409:
            return None
        raise


def put(lease, name, content):
    """Leave a file beside the result. The lease must last: 409 is an error."""
    digest = base64.b64encode(hashlib.sha256(content).digest()).decode()
    request = urllib.request.Request(SERVER + lease + "/outputs/" + name, data=content, method="PUT", headers={
        "Authorization": "Bearer " + KEY, "Content-Type": "application/octet-stream", "Repr-Digest": "sha-256=:" + digest + ":"})
    with urllib.request.urlopen(request, timeout=90) as answer:
        return json.load(answer)


def fetch(one):
    """Return the content of an input. Those of the server itself are signed, and need no key."""
    url = SERVER + one["url"] if one["url"].startswith("/") else one["url"]
    with urllib.request.urlopen(url, timeout=90) as answer:
        content = answer.read()
    if one.get("sha256", "") not in ("", hashlib.sha256(content).hexdigest()):
        raise ValueError(one["name"] + " is not what its SHA-256 says")
    return content


def work(taken):
    """Do a piece of work, with heartbeats beside it, and end it."""
    lease, done = "/v1/compute/claims/" + taken["token"], threading.Event()

    def heartbeat():
        while not done.wait(LEASE / 3):
            try:
                if call(lease + "/heartbeat", {}) is None:
                    return
            except OSError:
                pass  # the next one may arrive

    threading.Thread(target=heartbeat, daemon=True).start()
    try:
        contents = {one["name"]: fetch(one) for one in taken["inputs"]}
        digests = "".join("%s  %s\n" % (hashlib.sha256(content).hexdigest(), name) for name, content in contents.items())
        put(lease, "SHA256SUMS", digests.encode())
        ended = call(lease + "/complete", {"result": {name: len(content) for name, content in contents.items()}})
    except (OSError, ValueError) as error:
        ended = call(lease + "/fail", {"class": "system", "message": " ".join(str(error).split())[:500] or "it gave no reason"})
    finally:
        done.set()
    print(taken["entry"], ended["status"] if ended else "is another worker's by now", flush=True)


for name in (signal.SIGTERM, signal.SIGINT):
    signal.signal(name, lambda *_: stopped.set())
while not stopped.is_set():
    try:
        claim = call("/v1/compute/claims", {"worker": "example", "datasets": DATASETS, "wait": 5, "lease": LEASE})
    except OSError as fault:
        print("cannot take work:", fault, file=sys.stderr, flush=True)
        stopped.wait(1)
        continue
    if claim and "token" in claim:
        work(claim)
