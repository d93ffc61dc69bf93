package e2e

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// newcomer is at a shell, in a directory which has bin/accession and files of their own.
type newcomer struct {
	t    *testing.T
	home string
	page string // docs/depositing.md
}

func newNewcomer(t *testing.T) *newcomer {
	t.Helper()
	page, err := os.ReadFile("../../../docs/depositing.md")
	program, built := released()
	n := &newcomer{t: t, home: t.TempDir(), page: between(t, string(page), "## After the demo\n", "\n## ")}
	err = errors.Join(err, built, os.MkdirAll(filepath.Join(n.home, "bin"), 0o755), os.MkdirAll(filepath.Join(n.home, "maps", "sheets"), 0o755))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Symlink(program, filepath.Join(n.home, "bin", "accession")), os.WriteFile(filepath.Join(n.home, "maps", "north.txt"), []byte("north\n"), 0o600),
		os.WriteFile(filepath.Join(n.home, "maps", "sheets", "1 a.txt"), []byte("sheet 1\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	return n
}

// blocks returns the commands of the page, block by block.
func (n *newcomer) blocks() (all []string) {
	for _, m := range regexp.MustCompile("(?s)\n```\n(.*?)\n```\n").FindAllStringSubmatch(n.page, -1) {
		all = append(all, m[1])
	}
	return all
}

// environ is that of a shell in which nothing of this service is set.
func (n *newcomer) environ() []string {
	return append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "ACCESSION_") }), "HOME="+n.home, "PWD="+n.home)
}

// types runs lines as they are in a shell, and returns what they say.
func (n *newcomer) types(lines string) string {
	n.t.Helper()
	shell := exec.CommandContext(n.t.Context(), "sh", "-ec", lines)
	shell.Dir, shell.Env = n.home, n.environ()
	out, err := shell.CombinedOutput()
	if err != nil {
		n.t.Errorf("%s: %v\n%s", lines, err, out)
	}
	return string(out)
}

// keepsRunning starts the demonstration by a line of the page, and returns what it says until
// it is left running. It is stopped by the function.
func (n *newcomer) keepsRunning(line string) (said string, stop func()) {
	n.t.Helper()
	args := strings.Fields(line)
	demo := program(n.t, nil, args[1:]...)
	demo.Path, demo.Dir, demo.Env = filepath.Join(n.home, args[0]), n.home, n.environ()
	out, err := demo.StdoutPipe()
	if err != nil {
		n.t.Fatal(err)
	}
	var errs bytes.Buffer
	if demo.Stderr = &errs; demo.Start() != nil {
		n.t.Fatal("the demonstration does not start")
	}
	var b strings.Builder
	buf := make([]byte, 4096)
	for !strings.Contains(b.String(), "Ctrl-C stops them") {
		got, err := out.Read(buf)
		b.Write(buf[:got])
		if err != nil {
			n.t.Fatalf("the demonstration ended early: %v\n%s%s", err, b.String(), errs.String())
		}
	}
	return b.String(), func() {
		n.t.Helper()
		if err := demo.Process.Signal(os.Interrupt); err != nil {
			n.t.Error(err)
		}
		_, _ = io.Copy(io.Discard, out)
		if err := demo.Wait(); err != nil {
			n.t.Errorf("the demonstration ended with %v: %s", err, errs.String())
		}
	}
}

// deposits does what the page says after the demonstration: first beside it, then over HTTP
// with what the demonstration has printed. It returns all that this has said.
func (n *newcomer) deposits() string {
	n.t.Helper()
	blocks := n.blocks()
	if len(blocks) != 4 {
		n.t.Fatalf("the page has %d blocks: %q", len(blocks), blocks)
	}
	said, stop := n.keepsRunning(blocks[0])
	defer stop()
	if count := strings.Count(blocks[0]+"\n"+blocks[1], "bin/accession"); count != 3 {
		n.t.Errorf("%d commands lead to the first deposit, want 3", count)
	}
	out := n.types(blocks[1])
	if !strings.Contains(out, "completed: 1 jobs listed, 1 completed") || !strings.Contains(out, "ark:/99999/fk4") {
		n.t.Errorf("the first deposit: %s", out)
	}
	form := strings.NewReplacer("PORT", `[0-9]+`, "_KEY=KEY", `_KEY=\S+`).Replace(regexp.QuoteMeta(blocks[2]))
	export := regexp.MustCompile(`(?m)^  (` + form + ")$").FindStringSubmatch(said)
	if export == nil {
		n.t.Fatalf("the demonstration does not print %s:\n%s", blocks[2], said)
	}
	first, _, _ := strings.Cut(blocks[3], "\n")
	if count := len(strings.Split(blocks[0]+"\n"+blocks[2]+"\n"+first, "\n")); count != 3 || !strings.Contains(first, "submit") {
		n.t.Errorf("%d commands lead to the first deposit over HTTP, want 3", count)
	}
	// Nothing is found in another directory: only the service is asked.
	elsewhere := "mkdir elsewhere; mv bin maps elsewhere; cd elsewhere\n"
	out = n.types(elsewhere + export[1] + "\n" + blocks[3])
	if !strings.Contains(out, "completed: 1 jobs listed, 1 completed") || !regexp.MustCompile(`(?m)^bid\d+.*newcomer`).MatchString(out) || strings.Contains(out, "museum") {
		n.t.Errorf("the first deposit over HTTP: %s", out)
	}
	return said
}
