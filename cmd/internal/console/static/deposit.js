// A deposit of files, in a browser with script: what is chosen or dropped is listed, the digests are
// computed, and it is sent in pieces, from where an earlier transfer of it was cut off. Several files,
// and those of a folder, are packed as one archive, as `accession submit DIRECTORY` does: one object.
"use strict";

(() => {
  const form = document.getElementById("deposit");
  if (!form) return; // who looks may not deposit
  const [input, folder, list, chosen, fault, going, bar, step] = ["file", "folder", "files", "chosen", "fault", "going", "progress", "step"].map((id) => document.getElementById(id));
  const piece = 4 << 20;

  // What is chosen: files, each with its path, by names that no two files of an object may have.
  const all = new Map();
  let busy = false;
  const shown = (name) => name.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "\ufffd");
  const size = (n) => {
    for (const unit of ["B", "KiB", "MiB", "GiB"]) {
      if (n < 1024 || unit === "GiB") return (unit === "B" ? n : n.toFixed(1)) + " " + unit;
      n /= 1024;
    }
  };
  const say = (what) => {
    fault.textContent = what;
    fault.hidden = !what;
  };
  const alike = (path) => path.normalize("NFC").toLowerCase();
  const add = (found) => {
    if (busy) return;
    const others = [];
    for (const f of found) {
      const there = all.get(alike(f.path))?.file;
      if (!there || there.size === f.file.size && there.lastModified === f.file.lastModified) all.set(alike(f.path), f);
      else others.push(shown(f.path));
    }
    say(others.length ? "Not added, as another file of this name is chosen: " + others.join(", ") + ". Take that one off the list first." : "");
    show();
  };
  // The files in their order, with their names in the object. Those that come all from one folder are
  // named from it on.
  const named = () => {
    const files = [...all.values()].sort((a, b) => a.path < b.path ? -1 : 1);
    const [first] = files[0]?.path.split("/", 1) ?? [];
    const below = files.length > 0 && files.every((f) => f.path.startsWith(first + "/"));
    for (const f of files) f.name = (below ? f.path.slice(first.length + 1) : f.path).normalize("NFC");
    return {files, top: below ? first : ""};
  };
  const make = (what, has = {}, ...children) => {
    const e = Object.assign(document.createElement(what), has);
    e.append(...children);
    return e;
  };
  const show = () => {
    const {files, top} = named();
    list.replaceChildren(...files.map((f) => {
      const name = shown(f.name);
      const off = make("button", {type: "button", textContent: "Take off", ariaLabel: "Take off " + name});
      off.addEventListener("click", () => takeOff(f));
      f.bar = make("progress", {max: 1, value: 0, hidden: true, ariaLabel: "How much of " + name + " has gone"});
      f.gone = make("small");
      f.sum = make("code");
      return make("li", {}, make("span", {}, make("bdi", {textContent: name}), " " + size(f.file.size)), off, f.bar, f.gone, f.sum);
    }));
    const total = files.reduce((n, f) => n + f.file.size, 0);
    chosen.textContent = files.length ? (files.length === 1 ? "1 file, " : files.length + " files, ") + size(total) + (packed(files, top) ? ": they become one object, in which they have these names." : ".") : "";
    const kept = new DataTransfer();
    for (const f of files) kept.items.add(f.file);
    input.files = kept.files; // so that the field says how many there are
    folder.value = "";
  };
  const packed = (files, top) => files.length > 1 || top !== "";
  const takeOff = (f) => {
    const at = [...list.children].indexOf(f.bar.parentElement);
    all.delete(alike(f.path));
    say("");
    show();
    (list.children[Math.min(at, list.children.length - 1)]?.querySelector("button") ?? input).focus();
  };
  const chosenIn = (field) => add([...field.files].map((file) => ({file, path: file.webkitRelativePath || file.name})));
  input.addEventListener("change", () => chosenIn(input));
  folder.addEventListener("change", () => chosenIn(folder));
  input.removeAttribute("name"); // it is sent by what follows, and never by the form alone
  input.multiple = true;
  document.querySelector("label[for='file']").textContent = "Files";
  document.getElementById("many").hidden = false;

  // They may be dropped anywhere on the page: a browser would open them instead.
  document.addEventListener("dragover", (event) => {
    if (!event.dataTransfer.types.includes("Files")) return;
    event.preventDefault();
    event.dataTransfer.dropEffect = busy ? "none" : "copy";
  });
  document.addEventListener("drop", async (event) => {
    if (!event.dataTransfer.types.includes("Files")) return;
    event.preventDefault();
    const files = [...event.dataTransfer.files], entries = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry?.()).filter((entry) => entry);
    try {
      const found = entries.length ? (await Promise.all(entries.map(below))).flat() : files.map((file) => ({file, path: file.name}));
      add(found);
      if (!found.length) say("There are no files in what was dropped.");
    } catch (e) {
      say("What was dropped cannot be read, and was not added: " + e.message);
    }
  });
  const below = async (entry) => {
    if (entry.isFile) return [{file: await new Promise((got, failed) => entry.file(got, failed)), path: entry.fullPath.replace(/^\//, "")}];
    const reader = entry.createReader(), found = [];
    for (;;) { // it has the next ones each time, until there are none
      const some = await new Promise((got, failed) => reader.readEntries(got, failed));
      if (!some.length) return found;
      for (const e of some) found.push(...await below(e));
    }
  };

  form.addEventListener("submit", (event) => {
    if (!all.size) return; // a URL, which needs no script
    event.preventDefault();
    if (!busy) send();
  });
  const described = ["profile", "type", "title", "creator", "date", "identifier"];
  const about = (files, top) => {
    const said = {filename: files[0].file.name};
    for (const name of described) {
      const value = form.elements[name].value.trim();
      if (value) said[name] = value;
    }
    if (form.elements.url.value.trim()) throw new Refused("There are files and a URL: leave one of them out.");
    if (!packed(files, top)) return said;
    if ((said.type ??= "container") !== "container") throw new Refused("Several files, and those of a folder, are deposited as a container, and not as what is chosen: leave it to be found out, or take all but one file off the list.");
    said.filename = top && encode(top).length < 250 ? top + ".tar" : "files.tar";
    return said;
  };
  const send = async () => {
    busy = true;
    say("");
    const {files, top} = named();
    const fields = [...form.querySelectorAll("button, input, select")].filter((e) => !e.disabled);
    try {
      const said = about(files, top);
      for (const e of fields) e.disabled = true;
      for (const f of files) f.bar.hidden = false;
      going.hidden = false;
      const parts = packed(files, top) ? pack(files) : files;
      const digest = await read(parts, files);
      location.assign(await transfer(new Blob(parts.map((p) => p.file ?? p)), files, said, digest));
    } catch (e) {
      say(e instanceof Refused ? e.message : (e instanceof Later ? e.message : "The service cannot be reached.") + " Choose the same files again to go on where it was cut off.");
      for (const f of fields) f.disabled = false;
      busy = false;
    }
  };
  const share = (n, of) => of ? n / of : 1;
  const far = (n, of) => size(n) + " of " + size(of) + ", " + Math.floor(share(n, of) * 100) + " %";
  const at = (what, n, of) => {
    bar.value = share(n, of);
    step.textContent = what + " " + far(n, of);
  };
  const ofFile = (f, n) => {
    f.bar.value = share(n, f.file.size);
    f.gone.textContent = far(n, f.file.size);
  };
  // Reads all parts, for the digest of each file and of the whole.
  const read = async (parts, files) => {
    const of = files.reduce((n, f) => n + f.file.size, 0), whole = new Sha256();
    let done = 0, length = 0;
    for (const p of parts) {
      if (!p.file) {
        whole.add(p);
        length += p.length;
        continue;
      }
      const own = new Sha256();
      p.from = length;
      for (let n = 0; n < p.file.size; n += piece) {
        at("Reading:", done + n, of);
        const bytes = await bytesOf(p.file.slice(n, n + piece), [p]);
        own.add(bytes);
        whole.add(bytes);
        ofFile(p, Math.min(n + piece, p.file.size));
      }
      done += p.file.size;
      length += p.file.size;
      ofFile(p, 0);
      p.sum.textContent = "SHA-256 " + hex(own.end());
    }
    return btoa(String.fromCharCode(...whole.end()));
  };
  const bytesOf = async (part, files) => {
    try {
      return new Uint8Array(await part.arrayBuffer());
    } catch {
      throw new Refused("A file was changed, moved or taken away since it was chosen: " + files.map((f) => shown(f.name)).join(", ") + ". Take it off the list, and choose it again.");
    }
  };
  // Sends the whole, and returns the page of what it becomes.
  const transfer = async (whole, files, said, digest) => {
    const sum = digestOf([digest, said]), key = begun(sum, fresh());
    const metadata = Object.entries(said).map(([k, v]) => k + " " + btoa(String.fromCharCode(...new TextEncoder().encode(v)))).join(",");
    const sent = (n) => {
      at("Sending:", n, whole.size);
      for (const f of files) ofFile(f, Math.min(Math.max(n - f.from, 0), f.file.size));
    };
    let where = "";
    for (let failures = 0; ;) {
      try {
        if (!where) where = await begin( {"Upload-Length": whole.size, "Upload-Metadata": metadata, "Repr-Digest": "sha-256=:" + digest + ":", "Idempotency-Key": key}, sum);
        if (where.includes("/deposits/")) break;
        const now = await ask("HEAD", where, {});
        let n = Number(now.headers.get("Upload-Offset")), to = now.headers.get("Location");
        while (!to) {
          sent(n);
          const bytes = await bytesOf(whole.slice(n, n + piece), files.filter((f) => f.from < n + piece && f.from + f.file.size > n));
          const answer = await ask("PATCH", where, {"Upload-Offset": n, "Content-Type": "application/offset+octet-stream"}, bytes);
          n = Number(answer.headers.get("Upload-Offset"));
          to = answer.headers.get("Location");
          failures = 0;
        }
        where = to;
        break;
      } catch (e) {
        if (e instanceof Refused || ++failures > 8) throw e;
        step.textContent = (e instanceof Later ? e.message : "The connection was cut off.") + " It goes on by itself.";
        await new Promise((go) => setTimeout(go, Math.max(500 * 2 ** failures, 1000 * Math.min(e.seconds ?? 0, 60))));
      }
    }
    sent(whole.size);
    begun(sum, "");
    return where;
  };
  // Begins a transfer. What is refused has a key of its own when it is sent again.
  const begin = async (headers, sum) => {
    try {
      return (await ask("POST", "/console/uploads", headers)).headers.get("Location");
    } catch (e) {
      if (e instanceof Refused) begun(sum, "");
      throw e;
    }
  };
  // The key of a transfer that was begun, by the name of what it sends, for as long as the service
  // keeps it: so that it goes on after the page was closed too. Titles and names are not kept.
  const day = 24 * 60 * 60 * 1000;
  const begun = (name, key) => {
    try {
      const kept = Object.fromEntries(Object.entries(JSON.parse(localStorage.getItem("uploads") || "{}")).filter(([, has]) => has.at > Date.now() - day));
      if (key === "") delete kept[name]; else kept[name] ??= {key, at: Date.now()};
      localStorage.setItem("uploads", JSON.stringify(kept));
      return kept[name]?.key;
    } catch { return key; }
  };
  const hex = (bytes) => [...bytes].map((b) => b.toString(16).padStart(2, "0")).join("");
  const fresh = () => hex(crypto.getRandomValues(new Uint8Array(16)));
  const digestOf = (what) => {
    const sum = new Sha256();
    sum.add(encode(JSON.stringify(what)));
    return hex(sum.end());
  };
  class Refused extends Error {}
  class Later extends Error {} // the service says why not now
  const ask = async (method, to, headers, body) => {
    const answer = await fetch(to, {method, headers: {"Tus-Resumable": "1.0.0", ...headers}, body, redirect: "manual"});
    if (answer.ok) return answer;
    if (answer.type === "opaqueredirect" || answer.status === 401) throw new Refused("You are signed in no more: sign in in another window, and deposit again here, to go on where it was cut off.");
    if (answer.status === 423 || answer.status === 409 && method !== "POST") throw new Error(String(answer.status));
    let text = "The service answers " + answer.status + ".";
    try {
      const p = await answer.json();
      text = p.detail + (p.hint ? " — " + p.hint : "") + ".";
    } catch { /* it has no text */ }
    if (answer.status < 500 && answer.status !== 429) throw new Refused(text);
    throw Object.assign(new Later(text), {seconds: Number(answer.headers.get("Retry-After")) || 0});
  };

  // The parts of a tar archive of files (POSIX.1-2001, pax): the same files make the same archive, so
  // that its transfer goes on when they are chosen again.
  const encode = (text) => new TextEncoder().encode(text);
  const pack = (files) => {
    const parts = [];
    for (const f of files) parts.push(head(f.name, f.file.size, f.file.lastModified), f, new Uint8Array(-f.file.size & 511));
    return [...parts, new Uint8Array(1024)];
  };
  const head = (name, bytes, time) => {
    const plain = encode(name).length <= 100 && /^[\x20-\x7e]*$/.test(name), small = bytes < 8 ** 11;
    const more = encode((plain ? "" : record("path", name)) + (small ? "" : record("size", bytes)));
    const own = block(plain ? name : "file", small ? bytes : 0, time, "0");
    if (!more.length) return own;
    const both = new Uint8Array(512 + more.length + (-more.length & 511) + 512);
    both.set(block("pax", more.length, time, "x"));
    both.set(more, 512);
    both.set(own, both.length - 512);
    return both;
  };
  const record = (key, value) => { // its length in bytes is part of it
    const rest = " " + key + "=" + value + "\n", bytes = encode(rest).length;
    let n = bytes;
    while (n !== bytes + String(n).length) n = bytes + String(n).length;
    return n + rest;
  };
  const block = (name, bytes, time, type) => {
    const b = new Uint8Array(512), octal = (n, digits) => n.toString(8).padStart(digits, "0");
    const put = (at, text) => b.set(encode(text), at);
    put(0, name);
    put(100, "0000644");
    put(108, "0000000");
    put(116, "0000000");
    put(124, octal(bytes, 11));
    put(136, octal(Math.max(Math.floor(time / 1000), 0), 11));
    put(148, "        ");
    put(156, type);
    put(257, "ustar\x0000");
    put(148, octal(b.reduce((n, v) => n + v, 0), 6) + "\0 ");
    return b;
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

  chosenIn(input); // those that the browser has kept
})();
