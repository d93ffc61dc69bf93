package e2e

import (
	"bytes"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/accession-ingest/accession/cmd/internal/cli"
)

// notRun are the commands that start servers of their own, or a service, whose log is
// looked at elsewhere, or work until they are stopped.
var notRun = []string{"accession demo", "accession stack", "accession stack exec", "accession serve", "accession compute worker"}

// reading ends the names of commands that only read: they run before the others.
var reading = []string{"ls", "show", "report", "tail", "history", "print", "check", "status", "verify", "diff", "replay", "files", "get", "export", "board", "version", "simulate", "sweep"}

// example is a command line that the documentation shows.
type example struct {
	of   string // the command
	args []string
}

var inQuotes = regexp.MustCompile(`"[^"]*"`)

// examples returns the command lines of docs/cli.md, each with what is there in place of
// what the page names. Every command has one.
func examples(t testing.TB, there *strings.Replacer) (all []example) {
	t.Helper()
	page, err := os.ReadFile("../../../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	var of []string
	for line := range strings.Lines(string(page)) {
		if name, is := strings.CutPrefix(strings.TrimSpace(line), "### "); is {
			of = append(of, name)
		}
		line, is := strings.CutPrefix(line, "  accession ")
		if !is || len(of) == 0 {
			continue
		}
		line = inQuotes.ReplaceAllStringFunc(line, func(s string) string { return strings.ReplaceAll(strings.Trim(s, `"`), " ", "-") })
		if i := strings.IndexAny(line, "|>"); i >= 0 {
			line = line[:i]
		}
		args := slices.DeleteFunc(strings.Fields(there.Replace(" "+line+" ")), func(s string) bool { return s == "--watch" || s == "--follow" || s == "--sync" })
		all = append(all, example{of[len(of)-1], args})
	}
	for _, name := range of {
		if !slices.ContainsFunc(all, func(e example) bool { return e.of == name }) {
			t.Errorf("%s has no example", name)
		}
	}
	if len(of) < 100 {
		t.Errorf("the page has %d commands", len(of))
	}
	return all
}

// Whatever command is called, as text and as JSON, right or wrong: neither a password of
// the settings, in whatever form, nor one that is typed, nor the query of a depositor's URL
// is in what it writes.
func (in *installation) commandsAreSilent(signed string) {
	in.t.Helper()
	dir := in.t.TempDir()
	in.must(os.WriteFile(filepath.Join(dir, "shelf.txt"), []byte("jid0000000001\n"), 0o600))
	for _, name := range []string{"chart.tif", "tide.csv"} {
		in.must(os.WriteFile(filepath.Join(dir, name), []byte(signed+"\n"), 0o600))
	}
	var hash, ark string
	in.must(in.db.QueryRow(in.ctx(), "select raw_file_hash from accession.file order by 1 limit 1").Scan(&hash))
	in.must(in.db.QueryRow(in.ctx(), "select primary_identifier from report.inventory order by 1 limit 1").Scan(&ark))
	at := func(name string) (of, with string) { return " " + name + " ", " " + filepath.Join(dir, name) + " " }
	there := []string{"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", hash,
		"ark:/99999/fk4x1", ark, "ark:/99999/fk4c3q2wz8", ark, " maps ", " test ", "https://example.org/batch.checkm", signed, "https://example.org/tide.csv", signed,
		"--out ", "--out " + dir + "/", "--dir ", "--dir " + dir + "/", "--wait 2m", "--wait 1s", "2026-03-01T12:00", "1s", "4711", "9", "--plot ", "--plot " + dir + "/",
		"https://ingest.example.org", "http://127.0.0.1:1", "month.jsonl --servers", dir + "/month.jsonl --servers"}
	for _, name := range []string{"shelf.txt", "chart.tif", "tide.csv"} {
		of, with := at(name)
		there = append(there, of, with)
	}
	const typed = secret + "-typed"
	canaries := []string{secret}
	for _, key := range []string{"postgres", "nats"} {
		if u, err := url.Parse(in.settings[key]); err == nil {
			if password, _ := u.User.Password(); password != "" {
				canaries = append(canaries, password)
			}
		}
	}
	var set []string
	for key, value := range in.settings {
		set = append(set, "--set", key+"="+value)
	}
	var mu sync.Mutex
	answered, documents, urls := map[string]bool{}, map[string]int{}, 0
	run := func(e example, more ...string) {
		args := slices.Concat(e.args, more)
		var out, errs bytes.Buffer
		code := cli.Main(in.ctx(), args, cli.IO{In: strings.NewReader(typed + "\n"), Out: &out, Err: &errs, Environ: []string{"ACCESSION_API_KEY=" + secret, "XDG_CONFIG_HOME=" + dir, "HOME=" + dir}})
		mu.Lock()
		defer mu.Unlock()
		documents[e.of] += written(in.t, args, out.String(), errs.String())
		for _, c := range canaries {
			if text := out.String() + errs.String(); strings.Contains(text, c) {
				i := strings.Index(text, c)
				in.t.Errorf("accession %s shows a secret: …%s…", strings.Join(e.args, " "), text[max(0, i-200):i])
			}
		}
		answered[e.of] = answered[e.of] || code == 0
		urls += strings.Count(out.String(), "?redacted=")
	}
	reads, changes := []example{}, []example{}
	for _, e := range examples(in.t, strings.NewReplacer(there...)) {
		switch {
		case slices.Contains(notRun, e.of) || slices.Contains(e.args, "compute") && slices.Contains(e.args, "--wait"): // there is no worker
		case slices.Contains(reading, e.of[strings.LastIndexByte(e.of, ' ')+1:]):
			reads = append(reads, e)
		default:
			changes = append(changes, e)
		}
	}
	// What the first example of a command is called with too: JSON is asked for, and one
	// setting after the other is wrong.
	wrong := [][]string{{"--set", "postgres=host=h user=u password=" + secret}, {"--set", "nats=" + secret + "@h:4222"},
		{"--set", "store=s3://k:" + secret + "@bucket?secret=" + secret}, {"--set", "server=http://me:" + secret + "@127.0.0.1:1"}}
	for _, some := range [][]example{reads, changes} {
		var group errgroup.Group
		group.SetLimit(4)
		for i, e := range some {
			group.Go(func() error {
				run(e, set...)
				if i > 0 && some[i-1].of == e.of {
					return nil
				}
				run(e, slices.Concat(set, []string{"-o", "json"})...)
				run(e, slices.Concat(set, wrong[i%len(wrong)])...)
				return nil
			})
		}
		in.must(group.Wait())
	}
	var silent []string
	for _, e := range reads {
		if !answered[e.of] {
			silent = append(silent, e.of)
		}
	}
	slices.Sort(silent)
	in.t.Logf("%d commands answered, %d URLs were shown; of those that read these did not answer: %s", len(answered), urls, fmt.Sprint(slices.Compact(silent)))
	compared := 0
	for _, n := range documents {
		compared += min(n, 1)
	}
	if len(answered) < 60 || urls < 20 || compared < 80 {
		in.t.Errorf("%d commands answered, %d URLs were shown, and the JSON of %d commands was compared with its schema", len(answered), urls, compared)
	}
}
