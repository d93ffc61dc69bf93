// What a page can do with script: times in the reader's zone, and parts that stay up to date.
// Without it the pages read all the same.
"use strict";

(() => {
  const kept = {
    get utc() { try { return localStorage.getItem("utc") === "yes"; } catch { return false; } },
    set utc(yes) { try { localStorage.setItem("utc", yes ? "yes" : "no"); } catch { /* it is not kept */ } },
  };

  // Times.
  const two = (n) => String(n).padStart(2, "0");
  const local = (t) => `${t.getFullYear()}-${two(t.getMonth() + 1)}-${two(t.getDate())} ${two(t.getHours())}:${two(t.getMinutes())}:${two(t.getSeconds())}`;
  const times = (root) => {
    for (const e of root.querySelectorAll("time[datetime]")) {
      const t = new Date(e.dateTime);
      const utc = t.toISOString().slice(0, 19).replace("T", " ") + " UTC";
      e.textContent = kept.utc ? utc : local(t);
      e.title = kept.utc ? local(t) : utc;
    }
  };
  const zone = () => {
    const name = Intl.DateTimeFormat().resolvedOptions().timeZone || "your zone";
    const text = document.getElementById("zone"), button = document.getElementById("utc");
    text.textContent = kept.utc ? "times are in UTC" : "times are in " + name;
    button.textContent = kept.utc ? "Show " + name : "Show UTC";
    button.hidden = false;
  };
  document.getElementById("utc").addEventListener("click", () => {
    kept.utc = !kept.utc;
    zone();
    times(document);
  });
  zone();
  times(document);

  // Parts that stay up to date: when an event comes, the page is read again, and its parts that have
  // changed take the place of those that are shown.
  const main = document.getElementById("main");
  const parts = () => [...document.querySelectorAll("[data-live]")];
  const stops = (part) => [...part.querySelectorAll("a, button, input, select, [tabindex]")];
  const replace = (part, next) => {
    const stop = stops(part).indexOf(document.activeElement);
    const scrolled = [...part.querySelectorAll(".rows")].map((e) => e.scrollLeft);
    part.className = next.className;
    part.replaceChildren(...document.importNode(next, true).childNodes);
    [...part.querySelectorAll(".rows")].forEach((e, i) => { e.scrollLeft = scrolled[i] ?? 0; });
    stops(part)[stop]?.focus({preventScroll: true});
  };
  let reading = false, late = false, took = 0;
  const read = async () => {
    if (reading) { late = true; return; }
    reading = true;
    const begun = performance.now();
    try {
      const answer = await fetch(location.href, {headers: {Accept: "text/html"}});
      if (answer.redirected) { location.reload(); return; } // the session has ended
      if (!answer.ok) return;
      const next = new DOMParser().parseFromString(await answer.text(), "text/html");
      times(next);
      for (const part of parts()) {
        const now = next.getElementById(part.id);
        if (now && (now.innerHTML !== part.innerHTML || now.className !== part.className)) replace(part, now);
        if (now) part.toggleAttribute("data-often", now.hasAttribute("data-often"));
      }
    } catch { /* the service is away: it is read again with the next event */ } finally {
      reading = false;
      took = performance.now() - begun;
      if (late) { late = false; soon(); }
    }
  };
  // The tables show an event a moment after it came. A page that takes long is read less often.
  let first = 0, last = 0, missed = false;
  let paused = false;
  const soon = () => {
    if (paused) { missed = true; return; }
    first ||= setTimeout(() => { first = 0; read(); }, Math.max(300, 4 * took));
    clearTimeout(last);
    last = setTimeout(read, 2000);
  };
  const seen = () => new Promise((go) => {
    if (!document.hidden) { go(); return; }
    document.addEventListener("visibilitychange", go, {once: true});
  });
  const follow = async (chosen) => {
    for (let at = ""; ; await new Promise((go) => setTimeout(go, 2000))) {
      await seen();
      const stop = new AbortController();
      const hidden = () => { if (document.hidden) stop.abort(); };
      document.addEventListener("visibilitychange", hidden);
      try {
        const answer = await fetch("/console/stream?" + chosen, {headers: at ? {"Last-Event-ID": at} : {}, signal: stop.signal});
        if (answer.redirected) { location.reload(); return; }
        if (!answer.ok) continue;
        soon(); // what came before it began
        const stream = answer.body.pipeThrough(new TextDecoderStream()).getReader();
        for (let rest = ""; ;) {
          const {value, done} = await stream.read();
          if (done) break;
          const lines = (rest + value).split("\n");
          rest = lines.pop();
          for (const line of lines) {
            if (line.startsWith("id: ")) at = line.slice(4);
            if (line.startsWith("data: ")) soon();
          }
        }
      } catch { /* it is followed again */ } finally {
        document.removeEventListener("visibilitychange", hidden);
      }
    }
  };
  const pause = document.getElementById("pause");
  if (pause && main.dataset.follow) {
    pause.hidden = false;
    pause.addEventListener("click", () => {
      paused = !paused;
      pause.textContent = paused ? "Go on" : "Pause";
      if (paused) { clearTimeout(first); clearTimeout(last); first = 0; }
      if (!paused && missed) { missed = false; soon(); }
    });
  }
  if (main.dataset.follow) follow(main.dataset.follow);
  setInterval(() => { if (!document.hidden && document.querySelector("[data-often]")) read(); }, 1000);

  // A deposit: the file's digest is computed piece by piece, and the file sent in pieces, from where
  // an earlier transfer of it was cut off.
  const form = document.getElementById("deposit");
  form?.addEventListener("submit", (event) => {
    const file = document.getElementById("file").files[0];
    if (!file) return; // a URL, which needs no script
    event.preventDefault();
    send(form, file);
  });
  const piece = 4 << 20;
  const send = async (form, file) => {
    const button = form.querySelector("button"), fault = document.getElementById("fault");
    const step = document.getElementById("step"), bar = document.getElementById("progress");
    button.disabled = true;
    fault.hidden = true;
    document.getElementById("going").hidden = false;
    const at = (what, n) => {
      bar.value = file.size ? n / file.size : 1;
      step.textContent = what + " " + Math.floor(bar.value * 100) + " %";
    };
    try {
      const sum = new Sha256();
      for (let n = 0; n < file.size; n += piece) {
        at("Reading the file:", n);
        sum.add(new Uint8Array(await file.slice(n, n + piece).arrayBuffer()));
      }
      const digest = btoa(String.fromCharCode(...sum.end()));
      const said = {filename: file.name};
      for (const name of ["profile", "type", "title", "creator", "date", "identifier"]) {
        const value = form.elements[name].value.trim();
        if (value) said[name] = value;
      }
      const about = JSON.stringify([digest, said]);
      const key = begun(about, form.elements.key.value);
      const metadata = Object.entries(said).map(([k, v]) => k + " " + btoa(String.fromCharCode(...new TextEncoder().encode(v)))).join(",");
      let where = "";
      for (let failures = 0; ;) {
        try {
          if (!where) where = await ask("POST", "/console/uploads", {"Upload-Length": file.size, "Upload-Metadata": metadata, "Repr-Digest": "sha-256=:" + digest + ":", "Idempotency-Key": key}).then((a) => a.headers.get("Location"));
          if (where.includes("/deposits/")) break;
          const now = await ask("HEAD", where, {});
          let sent = Number(now.headers.get("Upload-Offset")), to = now.headers.get("Location");
          while (!to) {
            at("Sending:", sent);
            const answer = await ask("PATCH", where, {"Upload-Offset": sent, "Content-Type": "application/offset+octet-stream"}, file.slice(sent, sent + piece));
            sent = Number(answer.headers.get("Upload-Offset"));
            to = answer.headers.get("Location");
            failures = 0;
          }
          where = to;
          break;
        } catch (e) {
          if (e instanceof Refused || ++failures > 8) throw e;
          step.textContent = "The connection was cut off; it goes on by itself.";
          await new Promise((go) => setTimeout(go, 500 * 2 ** failures));
        }
      }
      at("Sent:", file.size);
      begun(about, "");
      location.assign(where);
    } catch (e) {
      fault.textContent = e instanceof Refused ? e.message : "The service cannot be reached. Choose the same file again to go on where it was cut off.";
      fault.hidden = false;
      button.disabled = false;
    }
  };
  // The key of a transfer that was begun, so that it goes on after the page was closed too.
  const begun = (about, key) => {
    try {
      const all = JSON.parse(localStorage.getItem("uploads") || "{}");
      if (key === "") delete all[about]; else all[about] ||= key;
      localStorage.setItem("uploads", JSON.stringify(all));
      return all[about];
    } catch { return key; }
  };
  class Refused extends Error {}
  const ask = async (method, to, headers, body) => {
    const answer = await fetch(to, {method, headers: {"Tus-Resumable": "1.0.0", ...headers}, body});
    if (answer.ok) return answer;
    if (answer.status >= 500 || answer.status === 423 || answer.status === 409) throw new Error(String(answer.status));
    let text = "The service answers " + answer.status + ".";
    try {
      const p = await answer.json();
      text = p.detail + (p.hint ? " — " + p.hint : "");
    } catch { /* it has no text */ }
    throw new Refused(text);
  };

  // SHA-256 of what comes in pieces (FIPS 180-4): the one of the browser takes a file as a whole.
  class Sha256 {
    static k = (() => {
      const primes = [];
      for (let n = 2; primes.length < 64; n++) if (primes.every((p) => n % p)) primes.push(n);
      return Uint32Array.from(primes, (p) => (Math.cbrt(p) % 1) * 2 ** 32);
    })();
    state = new Uint32Array([0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19]);
    rest = new Uint8Array(64);
    held = 0;
    length = 0;
    words = new Uint32Array(64);
    add(bytes) {
      this.length += bytes.length;
      let n = 0;
      if (this.held) {
        n = Math.min(64 - this.held, bytes.length);
        this.rest.set(bytes.subarray(0, n), this.held);
        if ((this.held += n) < 64) return;
        this.block(this.rest, 0);
        this.held = 0;
      }
      for (; n + 64 <= bytes.length; n += 64) this.block(bytes, n);
      this.rest.set(bytes.subarray(n));
      this.held = bytes.length - n;
    }
    block(bytes, at) {
      const w = this.words, k = Sha256.k, s = this.state;
      for (let i = 0; i < 16; i++, at += 4) w[i] = bytes[at] << 24 | bytes[at + 1] << 16 | bytes[at + 2] << 8 | bytes[at + 3];
      for (let i = 16; i < 64; i++) {
        const x = w[i - 15], y = w[i - 2];
        w[i] = w[i - 16] + ((x >>> 7 | x << 25) ^ (x >>> 18 | x << 14) ^ x >>> 3) + w[i - 7] + ((y >>> 17 | y << 15) ^ (y >>> 19 | y << 13) ^ y >>> 10);
      }
      let [a, b, c, d, e, f, g, h] = s;
      for (let i = 0; i < 64; i++) {
        const one = h + ((e >>> 6 | e << 26) ^ (e >>> 11 | e << 21) ^ (e >>> 25 | e << 7)) + (e & f ^ ~e & g) + k[i] + w[i] | 0;
        const two = ((a >>> 2 | a << 30) ^ (a >>> 13 | a << 19) ^ (a >>> 22 | a << 10)) + (a & b ^ a & c ^ b & c) | 0;
        h = g; g = f; f = e; e = d + one | 0; d = c; c = b; b = a; a = one + two | 0;
      }
      s[0] += a; s[1] += b; s[2] += c; s[3] += d; s[4] += e; s[5] += f; s[6] += g; s[7] += h;
    }
    end() {
      const bits = this.length * 8;
      const tail = new Uint8Array((this.held < 56 ? 64 : 128) - this.held);
      tail[0] = 0x80;
      new DataView(tail.buffer).setUint32(tail.length - 8, Math.floor(bits / 2 ** 32));
      new DataView(tail.buffer).setUint32(tail.length - 4, bits >>> 0);
      this.add(tail);
      const out = new DataView(new ArrayBuffer(32));
      this.state.forEach((v, i) => out.setUint32(4 * i, v));
      return new Uint8Array(out.buffer);
    }
  }
})();
