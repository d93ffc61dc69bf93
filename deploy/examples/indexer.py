#!/usr/bin/env python3
"""An example of a program that follows Accession, with the NATS protocol alone.

It writes one line of JSON for each completed object, from its one event job.completed,
and resumes after a kill: the last whole line has the sequence. It needs a NATS server
and Python's standard library.

    indexer.py --nats 127.0.0.1:4222 index.jsonl
    indexer.py --stream ACCESSION_TYPES --subject 'accession.types.job.completed.*' index.jsonl

The second form reads the stream that the role types fills: the server filters by type.
"""
import argparse, json, os, socket, urllib.parse, uuid


class Nats:
    """A connection: publish, and messages as (subject, reply, headers, data)."""

    def __init__(self, address):
        url = urllib.parse.urlsplit(address if "://" in address else "nats://" + address)
        self.conn = socket.create_connection((url.hostname, url.port or 4222))
        self.file = self.conn.makefile("rb")
        self.file.readline()  # INFO
        self.inbox = "_INBOX." + uuid.uuid4().hex
        options = {"verbose": False, "pedantic": False, "headers": True, "no_responders": True}
        if url.username:
            options |= {"user": urllib.parse.unquote(url.username), "pass": urllib.parse.unquote(url.password or "")}
        self.send("CONNECT " + json.dumps(options), f"SUB {self.inbox}.> 1")

    def send(self, *lines):
        self.conn.sendall("".join(line + "\r\n" for line in lines).encode())

    def publish(self, subject, reply, data):
        body = json.dumps(data)
        self.send(f"PUB {subject} {self.inbox}.{reply} {len(body.encode())}", body)

    def next(self):
        while True:
            line = self.file.readline()
            if not line:
                raise ConnectionError("the server closed the connection")
            words = line.decode().split()
            if words[0] == "PING":
                self.send("PONG")
            elif words[0] == "-ERR":
                raise ConnectionError(line.decode())
            elif words[0] in ("MSG", "HMSG"):
                sizes = [int(w) for w in words[-2:]] if words[0] == "HMSG" else [0, int(words[-1])]
                data = self.file.read(sizes[1])
                self.file.read(2)
                head = data[: sizes[0]].decode().split("\r\n")
                headers = dict(h.split(": ", 1) for h in head[1:] if ": " in h)
                headers["status"] = head[0][len("NATS/1.0"):].strip()
                reply = words[3] if len(words) == (6 if words[0] == "HMSG" else 5) else ""
                return words[1], reply, headers, data[sizes[0]:]


def opened(path):
    """The index, without a line that a kill has left half written, and the last sequence."""
    whole = b""
    if os.path.exists(path):
        with open(path, "rb") as f:
            whole = f.read()
        whole = whole[: whole.rfind(b"\n") + 1]
    index = open(path, "ab")
    index.truncate(len(whole))
    lines = whole.splitlines()
    return index, json.loads(lines[-1])["sequence"] if lines else 0


def follow(address, stream, subject, after):
    """Yields sequence, headers and data of the messages after a sequence, for ever."""
    nats = Nats(address)
    nats.publish(f"$JS.API.CONSUMER.CREATE.{stream}", "create", {"stream_name": stream, "config": {
        "deliver_policy": "by_start_sequence", "opt_start_seq": after + 1, "filter_subject": subject,
        "ack_policy": "none", "mem_storage": True, "inactive_threshold": 60_000_000_000}})
    answer = json.loads(nats.next()[3])
    if "error" in answer:
        raise RuntimeError(answer["error"])
    ask = lambda: nats.publish(f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{answer['name']}", "next", {"batch": 100, "expires": 5_000_000_000})
    ask()
    expected, left = 1, 100
    while True:
        _, reply, headers, data = nats.next()
        if headers["status"]:  # 404, 408: nothing more for this request
            ask()
            left = 100
            continue
        # $JS.ACK.STREAM.CONSUMER.DELIVERED.SEQUENCE.CONSUMER_SEQUENCE.TIME.PENDING
        words = reply.split(".")
        if int(words[-3]) != expected:
            raise RuntimeError("a message was lost on the way: start again")
        expected, left = expected + 1, left - 1
        yield int(words[-4]), headers, data
        if left == 0:
            ask()
            left = 100


def opened_event(headers, body):
    """The attributes of an event and its data. Events of old logs have the attributes in headers."""
    event = json.loads(body)
    if headers.get("content-type") == "application/cloudevents+json":
        return event, event["data"]
    return {name[3:]: urllib.parse.unquote(value) for name, value in headers.items() if name.startswith("ce-")}, event


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--nats", default="127.0.0.1:4222")
    args.add_argument("--stream", default="ACCESSION")
    args.add_argument("--subject", default="accession.v1.job.*")
    args.add_argument("index")
    o = args.parse_args()
    index, after = opened(o.index)
    for sequence, headers, data in follow(o.nats, o.stream, o.subject, after):
        attributes, event = opened_event(headers, data)
        if not attributes["type"].startswith("accession.job.completed.v1"):
            continue
        deposit, stored = event.get("deposit", {}), event.get("object", {})
        entry = {"event": attributes["id"], "primary": stored.get("primary"), "version": stored.get("version"),
                 "collection": event.get("collection"), "submitter": deposit.get("submitter"), "local_id": deposit.get("local_id"),
                 "title": deposit.get("erc_what"), "files": stored.get("files"), "bytes": stored.get("bytes"),
                 "key": stored.get("manifest_key"), "sequence": sequence}
        index.write(json.dumps(entry).encode() + b"\n")
        index.flush()
        os.fsync(index.fileno())


if __name__ == "__main__":
    main()
