// What a page can do with script: times in the reader's zone, and parts that stay up to date.
// Without it the pages read all the same.
"use strict";

(() => {
  const kept = {
    get utc() { try { return localStorage.getItem("utc") === "yes"; } catch { return false; } },
    set utc(yes) { try { localStorage.setItem("utc", yes ? "yes" : "no"); } catch { /* it is not kept */ } },
  };

  // Times, and reports that have some.
  const named = Intl.DateTimeFormat().resolvedOptions().timeZone ?? "";
  const known = named === "Etc/Unknown" ? "" : named;
  const two = (n) => String(n).padStart(2, "0");
  const local = (t) => `${t.getFullYear()}-${two(t.getMonth() + 1)}-${two(t.getDate())} ${two(t.getHours())}:${two(t.getMinutes())}:${two(t.getSeconds())}`;
  const times = (root) => {
    for (const e of root.querySelectorAll("time[datetime]")) {
      const t = new Date(e.dateTime);
      const utc = t.toISOString().slice(0, 19).replace("T", " ") + " UTC";
      e.textContent = kept.utc ? utc : local(t);
      e.title = kept.utc ? local(t) : utc;
    }
    for (const a of root.querySelectorAll("a[href^='/console/reports/'], a[href^='/console/queries/'][href*='/report?']")) {
      const to = new URL(a.getAttribute("href"), location.origin);
      if (!["html", "text"].includes(to.searchParams.get("format") ?? "html")) continue;
      to.searchParams.delete("zone");
      if (!kept.utc && known) to.searchParams.set("zone", known);
      a.setAttribute("href", to.pathname + to.search);
    }
  };
  const zone = () => {
    const name = known || "your zone";
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
  let paused = false, missed = false;
  const read = async () => {
    if (reading) { late = true; return; }
    reading = true;
    const begun = performance.now();
    try {
      const answer = await fetch(location.href, {headers: {Accept: "text/html"}});
      if (answer.redirected) { location.reload(); return; } // the session has ended
      if (answer.status === 403) { location.reload(); return; } // who looks may see it no more
      if (!answer.ok) return;
      const next = new DOMParser().parseFromString(await answer.text(), "text/html");
      if (paused) { missed = true; return; }
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
  const readAgain = () => {
    if (document.hidden) return;
    if (paused) { missed = true; return; }
    read();
  };
  // The tables show an event a moment after it came. A page that takes long is read less often.
  let first = 0, last = 0;
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
  // What has no events is read at an interval, and when it is seen again.
  const again = Number(main.dataset.again ?? 0) * 1000;
  if (main.dataset.follow) follow(main.dataset.follow);
  if (again) {
    setInterval(readAgain, again);
    document.addEventListener("visibilitychange", readAgain);
  }
  setInterval(() => { if (document.querySelector("[data-often]")) readAgain(); }, 1000);
  const pause = document.getElementById("pause");
  pause.hidden = !main.dataset.follow && !again && !document.querySelector("[data-often]");
  pause.addEventListener("click", () => {
    paused = !paused;
    pause.textContent = paused ? "Go on with updates" : "Pause updates";
    if (paused) { clearTimeout(first); clearTimeout(last); first = 0; }
    if (!paused && missed) { missed = false; soon(); }
  });
})();
