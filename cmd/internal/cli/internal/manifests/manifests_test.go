package manifests

import (
	"archive/tar"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/render"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/manifest"
)

// commands are the commands, with what they show.
type commands struct {
	t     *testing.T
	in    io.Reader
	out   bytes.Buffer
	shown any
	at    func(render.Step)
	ctx   context.Context
}

func newCommands(t *testing.T) *commands {
	return &commands{t: t, ctx: t.Context(), at: func(render.Step) {}}
}

func (c *commands) run(args ...string) error {
	c.t.Helper()
	c.out.Reset()
	c.shown = nil
	e := Env{In: c.in, Out: &c.out,
		Anywhere: func(do func(context.Context, []string) error) func(*cobra.Command, []string) error {
			return func(_ *cobra.Command, args []string) error { return do(c.ctx, args) }
		},
		Steps: func(_ context.Context, do func(func(render.Step)) error) error { return do(c.at) },
		Show: func(v any, write func(io.Writer)) error {
			c.shown = v
			write(&c.out)
			return nil
		},
		Group: func(c *cobra.Command, commands ...*cobra.Command) *cobra.Command {
			c.AddCommand(commands...)
			return c
		}}
	command := Command(e)
	command.SetArgs(args)
	command.SilenceErrors, command.SilenceUsage = true, true
	return command.Execute()
}

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestMadeManifestsAreValid: whatever the names, what is made lists every file once, as it is.
func TestMadeManifestsAreValid(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	content := map[string]string{"a.txt": "a", "b/pipe | in it.txt": "b", "b/100 %.txt": "c", "b/#1?.txt": "", "é.txt": "e", ".hidden": "h"}
	write(t, dir, content)
	for _, each := range []bool{false, true} {
		c := newCommands(t)
		args := []string{"make", dir, "--base", "https://example.org/maps"}
		if each {
			args = append(args, "--each")
		}
		if err := c.run(args...); err != nil {
			t.Fatal(err)
		}
		m, err := manifest.Parse(c.out.Bytes(), manifest.Limits{})
		if err != nil || m.Profile != profileOf(each) || len(m.Rows) != len(content) {
			t.Fatalf("%v: %+v\n%s", err, m, &c.out)
		}
		for _, r := range m.Rows {
			text, is := content[r.FileName]
			if r.Fault != nil || !is || r.Size != int64(len(text)) || r.Modified().IsZero() {
				t.Errorf("%+v", r)
			}
			if got := manifest.PayloadName(r.FileURL); got != filepath.Base(r.FileName) {
				t.Errorf("the URL of %q names %q", r.FileName, got)
			}
		}
		if checked := Check(c.out.Bytes()); !checked.OK || len(checked.Faults) > 0 {
			t.Errorf("%+v", checked)
		}
	}
}

// TestInterruptedMakesContinue: digests that are known are not computed again, those of files
// that have changed are.
func TestInterruptedMakesContinue(t *testing.T) {
	t.Parallel()
	dir, out := t.TempDir(), filepath.Join(t.TempDir(), "m.checkm")
	write(t, dir, map[string]string{"1": "one", "2": "two", "3": "three"})
	args := []string{"make", dir, "--base", "https://example.org/maps/", "--out", out}
	c := newCommands(t)
	ctx, stop := context.WithCancel(t.Context())
	c.ctx = ctx
	read := 0
	c.at = func(render.Step) {
		if read++; read == 2 {
			stop()
		}
	}
	if err := c.run(args...); !errors.Is(err, context.Canceled) {
		t.Fatalf("an interrupted run: %v", err)
	}
	if _, err := os.Stat(out); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("there is a manifest: %v", err)
	}
	kept, err := os.ReadFile(out + digestsSuffix)
	if err != nil {
		t.Fatal(err)
	}
	for _, cut := range []string{"", `{"name":"2","size`} { // of a line that was being written
		if err := os.WriteFile(out+digestsSuffix, append(bytes.Clone(kept), cut...), 0o600); err != nil {
			t.Fatal(err)
		}
		c = newCommands(t)
		if err := c.run(args...); err != nil {
			t.Fatal(err)
		}
		if made, _ := c.shown.(Made); made.Known != 1 || made.Files != 3 || made.Bytes != 11 {
			t.Errorf("%+v", c.shown)
		}
		if _, err := os.Stat(out + digestsSuffix); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("digests are left: %v", err)
		}
	}
	if err := os.WriteFile(out+digestsSuffix, kept, 0o600); err != nil {
		t.Fatal(err)
	}
	write(t, dir, map[string]string{"1": "another"})
	if err := c.run(args...); err != nil {
		t.Fatal(err)
	}
	if made, _ := c.shown.(Made); made.Known != 0 || made.Bytes != 15 {
		t.Errorf("after a change: %+v", c.shown)
	}
}

// TestFilesThatNoManifestListsAreErrors names the file and what to do.
func TestFilesThatNoManifestListsAreErrors(t *testing.T) {
	t.Parallel()
	for what, make := range map[string]func(dir string) error{
		"no plain file":     func(dir string) error { return os.Symlink("/etc/hostname", filepath.Join(dir, "link")) },
		"a line break":      func(dir string) error { return os.WriteFile(filepath.Join(dir, "a\nb"), nil, 0o600) },
		"holds a backslash": func(dir string) error { return os.WriteFile(filepath.Join(dir, `a\b`), nil, 0o600) },
		"no files below":    func(string) error { return nil },
		"not UTF-8":         func(dir string) error { return os.WriteFile(filepath.Join(dir, "\xff"), nil, 0o600) },
	} {
		dir := t.TempDir()
		if err := make(dir); err != nil {
			t.Fatal(err)
		}
		if err := newCommands(t).run("make", dir, "--base", "https://example.org/"); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("want %q: %v", what, err)
		}
	}
	err := newCommands(t).run("make", filepath.Join(t.TempDir(), "maps"), "--base", "https://example.org/")
	if why, ok := errors.AsType[*app.Error](err); !ok || why.Kind != app.NotFound || why.Hint == "" {
		t.Errorf("a directory that is not there: %v", err)
	}
	for _, base := range []string{"", "ftp://example.org", "https://example.org/?a=b", "https://me:secret@example.org/"} {
		if err := newCommands(t).run("make", t.TempDir(), "--base", base); err == nil || !strings.Contains(err.Error(), "--base") || strings.Contains(err.Error(), "secret") {
			t.Errorf("base %q: %v", base, err)
		}
	}
}

// TestChecksNameEveryFault: line, code, and what becomes of the deposit.
func TestChecksNameEveryFault(t *testing.T) {
	t.Parallel()
	const head = "#%checkm_0.7\n#%profile | http://uc3.cdlib.org/registry/ingest/manifest/"
	for text, want := range map[string][]Fault{
		head + "mrt-ingest-manifest\nhttp://example.org/a\nftp://example.org/b\nhttp://example.org/a\n#%eof\n": {
			{Line: 4, Level: levelFails, Code: manifest.RowBadURL}, {Line: 5, Level: levelFails, Code: manifest.RowDuplicateName}},
		head + "mrt-single-file-batch-manifest\nhttp://example.org/a | sha256 | 12\n#%eof\n": {{Line: 3, Level: levelFails, Code: manifest.RowDigestLength}},
		head + "mrt-ingest-manifest\n#%other | x\nhttp://example.org/a\n#%eof\n":             {{Line: 3, Level: levelWarning, Code: manifest.LineIgnored}},
		head + "mrt-ingest-manifest\nhttp://example.org/a\n":                                 {{Line: 3, Level: levelRefused, Code: manifest.NoEOF}},
		"": {{Line: 1, Level: levelRefused, Code: manifest.NoProfile}, {Line: 1, Level: levelRefused, Code: manifest.NoRows}, {Line: 1, Level: levelRefused, Code: manifest.NoEOF}},
	} {
		c := newCommands(t)
		c.in = strings.NewReader(text)
		err := c.run("check", "-")
		checked, _ := c.shown.(Checked)
		got := slices.Clone(checked.Faults)
		for i := range got {
			if got[i].Message == "" {
				t.Errorf("%q: no message", text)
			}
			got[i].Message = ""
		}
		ok := !slices.ContainsFunc(want, func(f Fault) bool { return f.Level != levelWarning })
		if !slices.Equal(got, want) || checked.OK != ok || (err == nil) != ok {
			t.Errorf("%q: %+v, %v", text, checked, err)
		}
	}
}

// TestManifestsDoNotListThemselves: what a run writes is no file of the deposit, also when
// it is inside the directory and an earlier run was killed at any point; all else is.
func TestManifestsDoNotListThemselves(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	out := filepath.Join(dir, "maps.checkm")
	write(t, dir, map[string]string{"a.txt": "a", ".digests": "a depositor's", "maps.checkm.part": "cut o", "maps.checkm.digests": "{\"na"})
	for _, run := range []string{"after a killed one", "again"} {
		c := newCommands(t)
		if err := c.run("make", dir, "--base", "https://example.org/maps", "--out", out); err != nil {
			t.Fatalf("%s: %v", run, err)
		}
		if made := c.shown.(Made); made.Files != 2 {
			t.Errorf("%s: %+v, want the two files of the depositor", run, made)
		}
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) != 3 {
			t.Errorf("%s: left %v, %v; want the two files and the manifest", run, entries, err)
		}
	}
	c := newCommands(t)
	if err := c.run("make", dir, "--base", "https://example.org/maps"); err != nil {
		t.Fatal(err)
	}
	if m, err := manifest.Parse(c.out.Bytes(), manifest.Limits{}); err != nil || len(m.Rows) != 3 {
		t.Errorf("without --out: %v; %s", err, c.out.String())
	}
}

// TestManifestOfURLs: files are named by what their addresses do not share; an interrupted run
// reads again only what it had not read, or what has changed since.
func TestManifestOfURLs(t *testing.T) {
	t.Parallel()
	content := map[string]string{"/maps/a.txt": "a", "/maps/b/a.txt": "bb", "/maps/c%20d.txt": "cccc"}
	modified := time.Unix(1_700_000_000, 0)
	asked, broken := map[string]int{}, ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		at := r.URL.EscapedPath()
		if at == broken {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "c")
			return
		}
		if _, is := content[at]; !is {
			http.Error(w, at, cmp.Or(map[string]int{"/login": http.StatusForbidden, "/away": http.StatusServiceUnavailable}[at], http.StatusNotFound))
			return
		}
		http.ServeContent(w, r, "", modified, strings.NewReader(content[at]))
		asked[at]++
	}))
	defer server.Close()
	out := filepath.Join(t.TempDir(), "m.checkm")
	args := []string{"make", server.URL + "/maps/a.txt", server.URL + "/maps/b/a.txt", server.URL + "/maps/c%20d.txt", "--out", out}
	c := newCommands(t)
	broken = "/maps/c%20d.txt"
	if err := c.run(args...); err == nil || !strings.Contains(err.Error(), server.URL+"/maps/c%20d.txt: after 1 bytes: unexpected EOF") {
		t.Fatalf("a reply that was cut off: %v", err)
	}
	broken = ""
	content["/maps/a.txt"] = "another"
	if err := c.run(args...); err != nil {
		t.Fatal(err)
	}
	if made := c.shown.(Made); made.Known != 1 || made.Files != 3 || made.Bytes != 13 {
		t.Errorf("%+v", made)
	}
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	m, err := manifest.Parse(text, manifest.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"a.txt", "b/a.txt", "c d.txt"} {
		r := m.Rows[i]
		at := strings.TrimPrefix(r.FileURL, server.URL)
		sum := sha256.Sum256([]byte(content[at]))
		if r.FileName != name || r.HashValue != hex.EncodeToString(sum[:]) || r.Size != int64(len(content[at])) || !r.Modified().Equal(modified) {
			t.Errorf("%+v", r)
		}
	}
	for what, args := range map[string][]string{
		"the server answers 404 Not Found; correct the URL, or put the file there": {server.URL + "/maps/none.txt"},
		"readable without a login": {server.URL + "/login"},
		"; try again later":        {server.URL + "/away"},
		"; see whether the server runs and can be reached from here": {"http://127.0.0.1:1/a.txt"},
		"URL of a directory":           {server.URL + "/maps/"},
		"is no URL":                    {server.URL + "/maps/a.txt", "maps"},
		"would both be named a.txt":    {server.URL + "/maps/a.txt", server.URL + "/maps/a.txt?x=1"},
		"--base goes with a directory": {server.URL + "/maps/a.txt", "--base", "https://example.org/"},
		"user name or password":        {strings.Replace(server.URL, "://", "://ana:x@", 1) + "/a.txt"},
		"one directory, not 2":         {"maps", "charts"},
	} {
		if err := newCommands(t).run(append([]string{"make"}, args...)...); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%v: want %q, got %v", args, what, err)
		}
	}
}

// TestArchiveOfADirectory: the same files make the same bytes, in any order and form of names.
func TestArchiveOfADirectory(t *testing.T) {
	t.Parallel()
	content := map[string]string{"b/a.txt": "a", "a.txt": "", ".hidden": strings.Repeat("h", 70_000), "e\u0301.txt": "e"}
	var bytesOf [2][]byte
	for i := range bytesOf {
		dir := filepath.Join(t.TempDir(), "maps")
		write(t, dir, content)
		for name := range content {
			if err := os.Chtimes(filepath.Join(dir, name), time.Time{}, time.Unix(1_700_000_000, 123)); err != nil {
				t.Fatal(err)
			}
		}
		d := app.Deposit{Payload: dir + "/"}
		packed, remove, err := Pack(t.Context(), &d, stepsOf)
		if err != nil || !packed || d.Type != domain.TypeContainer || filepath.Base(d.Payload) != "maps.tar" {
			t.Fatalf("%t, %v, %+v", packed, err, d)
		}
		if bytesOf[i], err = os.ReadFile(d.Payload); err != nil {
			t.Fatal(err)
		}
		remove()
		if _, err := os.Stat(filepath.Dir(d.Payload)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the archive is not removed: %v", err)
		}
	}
	if !bytes.Equal(bytesOf[0], bytesOf[1]) {
		t.Error("the same files make other bytes")
	}
	got := map[string]string{}
	for r := tar.NewReader(bytes.NewReader(bytesOf[0])); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		got[h.Name] = string(b)
	}
	content["é.txt"] = content["e\u0301.txt"]
	delete(content, "e\u0301.txt")
	if !maps.Equal(got, content) {
		t.Errorf("the archive has %d files: %v", len(got), slices.Collect(maps.Keys(got)))
	}
}

// TestArchiveThatCannotBe: what is no plain file, changes meanwhile, or is submitted as
// something else is refused, and nothing is left.
func TestArchiveThatCannotBe(t *testing.T) {
	t.Parallel()
	for want, prepare := range map[string]func(dir string, d *app.Deposit) error{
		"no plain file":          func(dir string, _ *app.Deposit) error { return os.Symlink("/etc/passwd", filepath.Join(dir, "b")) },
		"changed while":          func(string, *app.Deposit) error { return nil },
		"there are no files":     func(dir string, _ *app.Deposit) error { return os.Remove(filepath.Join(dir, "a")) },
		"and not as file":        func(_ string, d *app.Deposit) error { d.Type = domain.TypeFile; return nil },
		context.Canceled.Error(): func(string, *app.Deposit) error { return nil },
	} {
		dir := t.TempDir()
		write(t, dir, map[string]string{"a": strings.Repeat("x", progressEvery+5)})
		d := app.Deposit{Payload: dir}
		if err := prepare(dir, &d); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		_, _, err := Pack(ctx, &d, func(_ context.Context, do func(func(render.Step)) error) error {
			return do(func(render.Step) {
				switch want {
				case "changed while":
					if err := os.Truncate(filepath.Join(dir, "a"), progressEvery+2); err != nil {
						t.Error(err)
					}
				case context.Canceled.Error():
					cancel()
				}
			})
		})
		cancel()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
		if left := filepath.Dir(d.Payload); strings.HasSuffix(d.Payload, ".tar") {
			if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("%s: %s is left: %v", want, left, err)
			}
		}
	}
	d := app.Deposit{Payload: "https://example.org/a.txt"}
	if packed, remove, err := Pack(t.Context(), &d, stepsOf); packed || err != nil || d.Type != "" {
		t.Errorf("a URL is packed: %t, %v, %+v", packed, err, d)
	} else {
		remove()
	}
}

func stepsOf(_ context.Context, do func(func(render.Step)) error) error {
	return do(func(render.Step) {})
}
