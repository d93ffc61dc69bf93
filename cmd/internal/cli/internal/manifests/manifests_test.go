package manifests

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/cli/internal/render"
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
