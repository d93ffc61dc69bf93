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
})();
