package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/run"
	"github.com/accession-ingest/accession/internal/testkit/browser"
)

// sending is the form of a new deposit, open in the browser of a depositor.
type sending struct {
	formed
	dir string
}

// newSending returns an installation with a depositor, whose browser has the form.
func newSending(t *testing.T) *sending {
	t.Helper()
	in := newInstallation(t, "listen_http=127.0.0.1:0", "transfer_interval=50ms")
	c := &consoled{installation: in, browser: browser.Start(t)}
	in.says(0, []string{"user", "add", "ana"})
	in.says(0, []string{"user", "grant", "ana", "depositor", "--collection", "test"})
	in.withPassword("ana", password)
	c.url = in.doorOf(in.serveInProcess(append(run.AllRoles, run.RoleHTTP)...)).url
	return &sending{formed{c, c.signedIn("ana")}, t.TempDir()}
}

// opens opens the form anew.
func (s *sending) opens(title string) {
	s.t.Helper()
	s.p.Open(s.url + "/console/new")
	s.p.See("#many")
	s.p.Fill("#title", title)
}

// kept writes files below a directory, and returns their paths.
func (s *sending) kept(files map[string]string) (paths []string) {
	s.t.Helper()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		at := filepath.Join(s.dir, name)
		s.must(os.MkdirAll(filepath.Dir(at), 0o700))
		s.must(os.WriteFile(at, []byte(files[name]), 0o600))
		paths = append(paths, at)
	}
	return paths
}

// listed returns the names of the files on the form, once there are as many as are awaited.
func (s *sending) listed(n int) (names []string) {
	s.t.Helper()
	waitFor(s.t, fmt.Sprint(n, " files on the form"), func() bool {
		names = browser.Eval[[]string](s.p, `[...document.querySelectorAll("#files bdi")].map((e) => e.textContent)`)
		return len(names) == n
	})
	return names
}

// fault returns what the form says of a refusal.
func (s *sending) fault() string {
	s.t.Helper()
	s.p.See("#fault:not([hidden])")
	return browser.Eval[string](s.p, `document.querySelector("#fault").textContent`)
}

// stored waits for the batch of a deposit, which is one object of just these files.
func (s *sending) stored(title string, files map[string]string) {
	s.t.Helper()
	waitFor(s.t, "the batch of "+title, func() bool {
		return strings.HasPrefix(s.p.At(), "/console/batches/") && regexp.MustCompile(title+`\s+completed\s`).MatchString(s.p.Text())
	})
	rows, err := s.db.Query(s.ctx(), `select path, sha256 from accession.file where batch_id = $1 and status = 'PROCESSED'`, strings.TrimPrefix(s.p.At(), "/console/batches/"))
	s.must(err)
	is, want := map[string]string{}, map[string]string{}
	for rows.Next() {
		var path, sum string
		s.must(rows.Scan(&path, &sum))
		is[path] = sum
	}
	s.must(rows.Err())
	for name, content := range files {
		want[name] = sumOf(content)
	}
	if !maps.Equal(is, want) {
		s.t.Errorf("%s: the object has %v, not %v", title, is, want)
	}
	if wrong := s.p.Wrong(); len(wrong) > 0 {
		s.t.Errorf("%s: %q", title, wrong)
	}
}

func sumOf(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

// TestConsoleDepositsSeveralFiles: files that are chosen, and dropped with a folder, are one deposit of
// one object, whose files have the digests that the browser has shown before it sent them. One is taken
// off the list by keyboard. A transfer that is cut off goes on by itself, and after the page was closed
// when the same files are chosen again; one of which a byte has changed on the way is refused, and can
// be sent again.
// Shows: P9
func TestConsoleDepositsSeveralFiles(t *testing.T) {
	t.Parallel()
	s := newSending(t)
	large := make([]byte, 9<<20+12345)
	for i := range large {
		large[i] = byte(i * i >> 7)
	}
	files := map[string]string{"tide “1923” — Übersicht.csv": "day,height\n", strings.Repeat("long name ", 20) + ".txt": "a letter", "large.bin": string(large), "empty.txt": ""}
	paths := s.kept(files)

	s.opens("Chosen files")
	s.p.Choose("#file", append(paths, s.kept(map[string]string{"draft.txt": "no"})...)...)
	if names := s.listed(5); !slices.Equal(names, slices.Sorted(slices.Values(append(slices.Collect(maps.Keys(files)), "draft.txt")))) {
		t.Errorf("the form lists %q", names)
	}
	s.p.Choose("#file", s.kept(map[string]string{"others/Empty.txt": "another one"})...)
	if says := s.fault(); !strings.Contains(says, "another file of this name is chosen: Empty.txt") {
		t.Error(says)
	}
	s.reach(s.p, `button[aria-label="Take off draft.txt"]`)
	s.p.Press("\r")
	s.listed(4)
	if at := browser.Eval[string](s.p, `document.activeElement.ariaLabel`); at != "Take off empty.txt" {
		t.Errorf("after one was taken off the keyboard is at %q", at)
	}
	s.looksOfAll(s.p, "files that are chosen")
	browser.Eval[bool](s.p, `(document.getElementById("type").value = "file") !== ""`)
	s.p.Click(".deposit .buttons button")
	if says := s.fault(); !strings.Contains(says, "deposited as a container") {
		t.Error(says)
	}
	browser.Eval[bool](s.p, `(document.getElementById("type").value = "") === ""`)
	// The second piece is lost at once, and the third one for ever.
	browser.Eval[bool](s.p, `(() => {
		const whole = window.fetch;
		let pieces = 0;
		window.fetch = (to, how) => {
			if (how?.method !== "PATCH") return whole(to, how);
			pieces++;
			return pieces === 2 ? Promise.reject(new TypeError("cut off")) : pieces === 4 ? new Promise(() => { window.hangs = true; }) : whole(to, how);
		};
		return true;
	})()`)
	s.p.Click(".deposit .buttons button")
	waitFor(t, "the third piece", func() bool { return browser.Eval[bool](s.p, "window.hangs === true") })
	shown := browser.Eval[map[string]string](s.p, `Object.fromEntries([...document.querySelectorAll("#files li")].map((e) => [e.querySelector("bdi").textContent, e.querySelector("code").textContent]))`)
	for name, content := range files {
		if shown[name] != "SHA-256 "+sumOf(content) {
			t.Errorf("of %s the form says %q", name, shown[name])
		}
	}
	if is := browser.Eval[[]float64](s.p, `[...document.querySelectorAll("#files progress, #progress")].map((e) => e.value)`); is[0] != 1 || is[1] <= 0.5 || is[1] >= 1 || is[2] != 0 || is[4] <= 0.5 || is[4] >= 1 {
		t.Errorf("after two of three pieces the progress of the files, and of all, is %v", is)
	}
	s.looks(s.p, "files that are sent")

	s.opens("Chosen files")
	s.p.Choose("#file", paths...)
	s.listed(4)
	browser.Eval[bool](s.p, `(() => {
		const whole = window.fetch;
		window.fetch = (to, how) => {
			if (how?.method === "PATCH") localStorage.setItem("began", localStorage.getItem("began") ?? how.headers["Upload-Offset"]);
			return whole(to, how);
		};
		return true;
	})()`)
	s.p.Click(".deposit .buttons button")
	s.stored("Chosen files", files)
	if at := browser.Eval[string](s.p, `localStorage.getItem("began")`); at != fmt.Sprint(8<<20) {
		t.Errorf("the transfer went on at %s, and not after the pieces that had come", at)
	}

	s.kept(map[string]string{"maps/north.txt": "north", "maps/sheets/1 a.txt": "1 a", "maps/sheets/1 b.txt": "1 b"})
	s.opens("A folder that was dropped")
	s.p.Drop("#many", filepath.Join(s.dir, "maps"))
	s.listed(3)
	browser.Eval[bool](s.p, `(() => {
		const whole = window.fetch;
		window.fetch = (to, how) => {
			if (how?.method === "PATCH") { window.fetch = whole; how.body = how.body.slice(); how.body[1024] ^= 1; }
			return whole(to, how);
		};
		return true;
	})()`)
	s.p.Click(".deposit .buttons button")
	if says := s.fault(); !strings.Contains(says, "the file that arrived has the SHA-256") {
		t.Error(says)
	}
	if wrong := s.p.Wrong(); len(wrong) != 1 || !strings.Contains(wrong[0], "status of 4") {
		t.Errorf("besides the refusal the browser says %q", wrong)
	}
	s.p.Click(".deposit .buttons button")
	s.stored("A folder that was dropped", map[string]string{"north.txt": "north", "sheets/1 a.txt": "1 a", "sheets/1 b.txt": "1 b"})

	s.opens("Files that were dropped")
	s.p.Drop("footer", s.kept(map[string]string{"one.txt": "one", "two.txt": "two", "three.txt": "three"})...)
	s.listed(3)
	// Why it cannot be sent now is said in the words of the service, and a refusal uses up the key.
	browser.Eval[bool](s.p, `(() => {
		const whole = window.fetch, said = window.said = [], keys = window.keys = [];
		new MutationObserver(() => said.push(document.getElementById("step").textContent)).observe(document.getElementById("step"), {childList: true});
		const answers = [[503, "the intake is closed"], [409, "the upload has become a deposit"]];
		window.fetch = (to, how) => {
			if (to !== "/console/uploads") return whole(to, how);
			keys.push(how.headers["Idempotency-Key"]);
			const [status, detail] = answers.shift() ?? [];
			return status ? Promise.resolve(new Response(JSON.stringify({detail}), {status})) : whole(to, how);
		};
		return true;
	})()`)
	s.p.Click(".deposit .buttons button")
	if says := s.fault(); !strings.Contains(says, "the upload has become a deposit") {
		t.Error(says)
	}
	if said := browser.Eval[[]string](s.p, "window.said"); !slices.Contains(said, "the intake is closed. It goes on by itself.") {
		t.Errorf("the form says %q", said)
	}
	s.p.Click(".deposit .buttons button")
	waitFor(t, "the third request", func() bool { return browser.Eval[bool](s.p, "!window.keys || window.keys.length === 3") })
	if keys := browser.Eval[[]string](s.p, "window.keys ?? []"); len(keys) == 3 && (keys[0] != keys[1] || keys[1] == keys[2]) {
		t.Errorf("the keys are %q", keys)
	}
	s.stored("Files that were dropped", map[string]string{"one.txt": "one", "two.txt": "two", "three.txt": "three"})

	// What has changed since it was chosen is named, and is sent when it is chosen again.
	changes := s.kept(map[string]string{"stays.txt": "it stays", "changes.txt": "it changes"})
	s.opens("A file that changes")
	s.p.Choose("#file", changes...)
	s.listed(2)
	s.kept(map[string]string{"changes.txt": "it has changed"})
	s.p.Click(".deposit .buttons button")
	if says := s.fault(); !strings.Contains(says, "changed, moved or taken away since it was chosen: changes.txt") {
		t.Error(says)
	}
	s.p.Wrong()
	s.p.Click(`button[aria-label="Take off changes.txt"]`)
	s.listed(1)
	s.p.Choose("#file", changes[0])
	s.listed(2)
	s.p.Click(".deposit .buttons button")
	s.stored("A file that changes", map[string]string{"stays.txt": "it stays", "changes.txt": "it has changed"})
}
