package cli

import (
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"
)

var (
	commandNamed = regexp.MustCompile("`accession ([a-z][^`]*)`")
	metricNamed  = regexp.MustCompile(`\baccession_[a-z_]+\b`)
	headingLine  = regexp.MustCompile(`(?m)^## (.+)$`)
	anchorNamed  = regexp.MustCompile(`docs/runbooks\.md#([a-z0-9-]+)`)
)

func readPage(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../../../" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestRunbooksNameWhatThereIs: commands that the program understands, those that are
// to be done with their arguments, metrics that it has, and a section for each alert.
func TestRunbooksNameWhatThereIs(t *testing.T) {
	t.Parallel()
	text := readPage(t, "docs/runbooks.md")
	whole := map[string]bool{} // what is to be done is told with its arguments
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "**To do.**") {
			for _, m := range commandNamed.FindAllStringSubmatch(line, -1) {
				whole[m[1]] = true
			}
		}
	}
	for _, m := range commandNamed.FindAllStringSubmatch(text, -1) {
		args := strings.Fields(m[1])
		root := (&program{}).root()
		found, rest, err := root.Find(args)
		if err == nil {
			err = found.ParseFlags(rest)
		}
		if err == nil && !found.Runnable() && len(found.Flags().Args()) > 0 {
			t.Errorf("`accession %s`: %s knows no command %q", m[1], found.CommandPath(), found.Flags().Args())
		}
		if err == nil && found.Args != nil && whole[m[1]] {
			err = found.Args(found, found.Flags().Args())
		}
		if err != nil || found == root {
			t.Errorf("`accession %s` is not understood: %v", m[1], err)
		}
	}
	known := readPage(t, "docs/metrics.md")
	for _, name := range metricNamed.FindAllString(text, -1) {
		if !strings.Contains(known, "`"+name+"`") {
			t.Errorf("there is no metric %s", name)
		}
	}
	anchors := map[string]bool{}
	for _, h := range headingLine.FindAllStringSubmatch(text, -1) {
		anchor := strings.ToLower(strings.ReplaceAll(strings.ReplaceAll(h[1], ",", ""), " ", "-"))
		anchors[anchor] = true
	}
	alerts := anchorNamed.FindAllStringSubmatch(readPage(t, "deploy/prometheus/alerts.yaml"), -1)
	if len(alerts) < 10 {
		t.Errorf("%d alerts name a section", len(alerts))
	}
	for _, a := range alerts {
		if !anchors[a[1]] {
			t.Errorf("docs/runbooks.md has no section #%s", a[1])
		}
	}
}

// TestRunbooksQuoteTheLog: what they say is seen in the log is what the program
// writes.
func TestRunbooksQuoteTheLog(t *testing.T) {
	t.Parallel()
	var sources strings.Builder
	for _, dir := range []string{"eventstore", "projections", "cmd/internal/daemon", "cmd/internal/audit", "cmd/internal/run", "cmd/internal/wire"} {
		err := fs.WalkDir(os.DirFS("../../../"+dir), ".", func(name string, _ fs.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
				sources.WriteString(readPage(t, dir+"/"+name))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	quoted := 0
	for _, m := range regexp.MustCompile("`([a-z][^`]* [^`]* [^`]*)`").FindAllStringSubmatch(readPage(t, "docs/runbooks.md"), -1) {
		if strings.HasPrefix(m[1], "accession ") || strings.HasPrefix(m[1], "curl ") {
			continue
		}
		quoted++
		if !strings.Contains(sources.String(), m[1]) {
			t.Errorf("no line of the log says %q", m[1])
		}
	}
	if quoted < 8 {
		t.Errorf("only %d lines are quoted", quoted)
	}
}
