package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/problem"
	"github.com/accession-ingest/accession/cmd/internal/app/target"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/exit"
	"github.com/accession-ingest/accession/cmd/internal/operation"
	"github.com/accession-ingest/accession/domain"
)

// fakeVerb is about things named ok…, refused…, missing…, away…: it holds jobs.
func fakeVerb(final bool) verb[string] {
	return verb[string]{name: "fake", final: final, as: func(id string, change operation.Change) request {
		return request{"job.hold", jobInput(domain.JobID(id), change)}
	}}
}

// fakeService answers the requests of a fakeVerb.
func fakeService(t *testing.T, done *[]string) (url string) {
	t.Helper()
	answers := map[string]struct {
		status int
		kind   app.Kind
		says   string
	}{"refused": {409, app.Refused, "not now"}, "missing": {404, app.NotFound, "no such thing"}, "away": {503, app.Unavailable, "no answer"},
		"forbidden": {403, app.Forbidden, "no right"}, "unknown": {401, app.Unauthenticated, "no key"}}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := strings.Split(r.URL.Path, "/")[3]
		if a, ok := answers[strings.TrimRight(id, "0123456789")]; ok {
			w.WriteHeader(a.status)
			_ = json.NewEncoder(w).Encode(map[string]any{"code": a.kind, "detail": "fake " + id + ": " + a.says, "hint": "look at " + id, "exit": app.ExitCodes[a.kind]})
			return
		}
		dry := r.URL.Query().Get("dry_run") == "true"
		if !dry {
			var why operation.Reason
			_ = json.NewDecoder(r.Body).Decode(&why)
			*done = append(*done, id+" "+why.Reason)
		}
		_ = json.NewEncoder(w).Encode(app.Changed{Target: target.Target{ID: id, Subject: "thing/" + id}, Version: 4, From: "red", State: "green", Row: "X1", DryRun: dry, Effects: []string{"it shines"}})
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// operateFake runs the verb with what is typed at a terminal, without a terminal when it
// is nil.
func operateFake(t *testing.T, final bool, typed *string, args ...string) (code int, out, errs string, done []string) {
	t.Helper()
	var o, e bytes.Buffer
	p := &program{IO: IO{Out: &o, Err: &e, Environ: append(nowhere(t), "ACCESSION_API_KEY=k", "ACCESSION_SERVER="+fakeService(t, &done))}}
	if typed != nil {
		p.In, p.Interactive = strings.NewReader(*typed), true
	}
	root := p.root()
	root.AddCommand(verbs(p, "THING", "thing", anyName, fakeVerb(final))...)
	code = p.execute(t.Context(), root, append([]string{"fake"}, args...))
	return code, o.String(), e.String(), done
}

func TestOperateSeveral(t *testing.T) {
	t.Parallel()
	yes, no := "y\n", "\n"
	const line, effect = " is green now, was red (X1)\n", "  it shines\n"
	for name, c := range map[string]struct {
		final      bool
		typed      *string
		args       string
		code       int
		out, done  string
		says, asks []string // on the error stream
	}{
		"none":                {args: "", code: 2, says: []string{"give at least one thing"}},
		"one":                 {args: "ok1", out: "ok1" + line + effect, done: "ok1 "},
		"several":             {args: "ok1 ok2 --reason mended", out: "ok1" + line + "ok2" + line, done: "ok1 mended;ok2 mended"},
		"tried":               {args: "ok1 --dry-run", out: "ok1 would go from red to green (X1)\n" + effect},
		"one is refused":      {args: "ok1 refused1 ok2", code: 3, out: "ok1" + line + "ok2" + line, done: "ok1 ;ok2 ", says: []string{"accession: fake refused1: not now\nhint: look at refused1\n"}},
		"the worst counts":    {args: "refused1 missing1 ok1", code: 4, out: "ok1" + line, done: "ok1 ", says: []string{"refused1: not now", "missing1: no such thing"}},
		"a server is away":    {args: "ok1 away1 ok2", code: 5, out: "ok1" + line, done: "ok1 ", says: []string{"away1: no answer", "ok2: not tried: a server cannot be reached"}},
		"no right":            {args: "ok1 forbidden1 refused1", code: 11, out: "ok1" + line, done: "ok1 ", says: []string{"forbidden1: no right"}},
		"no key":              {args: "unknown1 forbidden1", code: 10, says: []string{"unknown1: no key"}},
		"final, no terminal":  {final: true, args: "ok1", code: 2, says: []string{"this cannot be undone, and there is no terminal to ask at", "add --yes", "hint: `accession fake --help`"}},
		"final, --yes":        {final: true, args: "ok1 ok2 --yes", out: "ok1" + line + effect + "ok2" + line + effect, done: "ok1 ;ok2 "},
		"final, tried":        {final: true, args: "ok1 --dry-run", out: "ok1 would go from red to green (X1)\n" + effect},
		"final, confirmed":    {final: true, typed: &yes, args: "ok1", out: "ok1" + line + effect, done: "ok1 ", asks: []string{"ok1 would go from red to green (X1)\n  it shines\nRun `accession fake` on ok1? This cannot be undone. [y/N] "}},
		"final, in part":      {final: true, typed: &yes, args: "ok1 refused1 ok2", code: 3, out: "ok1" + line + effect + "ok2" + line + effect, done: "ok1 ;ok2 ", asks: []string{"on these 2?"}, says: []string{"refused1: not now"}},
		"final, all refused":  {final: true, typed: &yes, args: "refused1", code: 3, says: []string{"refused1: not now"}},
		"final, not wanted":   {final: true, typed: &no, args: "ok1", code: 1, says: []string{"not confirmed: nothing was changed"}},
		"not final, asks not": {typed: &no, args: "ok1", out: "ok1" + line + effect, done: "ok1 "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, out, errs, done := operateFake(t, c.final, c.typed, strings.Fields(c.args)...)
			if code != c.code || strings.Join(done, ";") != c.done {
				t.Errorf("exit code %d, want %d; done %q, want %q\n%s", code, c.code, done, c.done, errs)
			}
			if diff := cmp.Diff(c.out, out); diff != "" {
				t.Error(diff)
			}
			for _, want := range append(c.says, c.asks...) {
				if !strings.Contains(errs, want) {
					t.Errorf("the error stream does not say %q:\n%s", want, errs)
				}
			}
			if len(c.asks) == 0 && c.done != "" && strings.Contains(errs, "[y/N]") {
				t.Errorf("it asked:\n%s", errs)
			}
		})
	}
}

// TestWorseExitCode: no code of an error is lost in the worst of several.
func TestWorseExitCode(t *testing.T) {
	t.Parallel()
	for _, code := range append(slices.Collect(maps.Values(app.ExitCodes)), 99) {
		if exit.Worse(exit.OK, code) != code || exit.Worse(code, exit.OK) != code {
			t.Errorf("%d is no worse than success", code)
		}
	}
}

func TestOperateForPrograms(t *testing.T) {
	t.Parallel()
	code, out, _, _ := operateFake(t, false, nil, "ok1", "refused1", "--dry-run", "-o", "json")
	var page struct {
		Items []struct {
			ID, From, Status, Row string
			DryRun                bool `json:"dry_run"`
			Effects               []string
			Error                 *problem.Problem
		}
	}
	err := json.Unmarshal([]byte(out), &page)
	got := page.Items
	if err != nil || code != 3 || len(got) != 2 {
		t.Fatalf("exit code %d, %v\n%s", code, err, out)
	}
	if g := got[0]; g.ID != "ok1" || g.From != "red" || g.Status != "green" || g.Row != "X1" || !g.DryRun || len(g.Effects) != 1 || g.Error != nil {
		t.Errorf("%+v", g)
	}
	if g := got[1]; g.ID != "refused1" || g.Status != "" || g.Error == nil || g.Error.Code != "refused" || g.Error.Detail != "fake refused1: not now" || g.Error.Status != 409 || g.Error.Hint == "" {
		t.Errorf("%+v", g)
	}
}

// What can be said without a server is said without one.
func TestOperatorsCommandLines(t *testing.T) {
	t.Parallel()
	env, bad := nowhere(t), t.TempDir()
	for name, text := range map[string]string{"a.yaml": "name: A\n", "b.yaml": "title: b\n"} {
		if err := os.WriteFile(filepath.Join(bad, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		args string
		code int
		says []string // of both streams
	}{
		{"batch release", 2, []string{"give at least one batch id", "hint: `accession batch release --help`"}},
		{"batch send-report", 2, []string{"give at least one batch id", "hint: `accession batch send-report --help`"}},
		{"batch delete bid1 --yes", 2, []string{`"bid1" is not an id: want bid and 10 digits`}},
		{"batch delete bid0000000001 --yes", 2, []string{"delete bid0000000001: a deletion needs a reason", "hint: say why with --reason"}},
		{"batch delete bid0000000001 --reason x", 2, []string{"there is no terminal to ask at"}},
		{"batch cleanup bid0000000001", 2, []string{"there is no terminal to ask at"}},
		{"job delete jid0000000001 --yes --dry-run", 2, []string{"a deletion needs a reason"}},
		{"job delete jid0000000001 --reason x", 2, []string{"there is no terminal to ask at"}},
		{"job hold bid0000000001", 2, []string{`"bid0000000001" is not an id: want jid`}},
		{"job priority jid0000000001", 2, []string{"required flag(s) \"to\" not set"}},
		{"collection hold", 2, []string{"give at least one collection"}},
		{"collection hold a/b", 2, []string{"hold collection a/b: the name of a hold may hold printable ASCII"}},
		{"collection hold charts", 4, []string{`no profile describes the collection "charts"`, "hint: there is maps"}},
		{"queue pause", 2, []string{"give at least one queue"}},
		{"timeouts set --reason x", 2, []string{"no timeout is named", "such as download=6h"}},
		{"timeouts set --reason x download", 2, []string{`"download" is no timeout`, "such as download=6h"}},
		{"timeouts set --reason x download=0s", 2, []string{"from 1s to 168h, such as download=6h"}},
		{"timeouts set --reason x processing=1500ms", 2, []string{"whole seconds with a unit"}},
		{"timeouts set --reason x download=169h", 2, []string{"from 1s to 168h"}},
		{"timeouts set --reason x upload=1h", 2, []string{`"upload=1h" is no timeout`}},
		{"timeouts set --reason x download=1h download=2h", 2, []string{"download is named twice"}},
		{"profile", 0, []string{"accession profile check"}},
		{"profile ls", 0, []string{"maps", "priority"}},
		{"profile ls -o json", 0, []string{`{
  "items": [`, `"name": "maps"`}},
		{"report ls -o json", 0, []string{`{
  "items": [`, `"retries"`}},
		{"profile show maps", 0, []string{"maps.yaml\n# this is what this process knows: it could not be asked whether something was set", "timeout: 1h0m0s\n"}},
		{"profile show maps -o json", 0, []string{`"timeout": "1h0m0s"`}},
		{"profile show charts", 5, []string{`no profile is named "charts"; known are: maps; it could not be asked whether one was set: `}},
		{"profile check", 0, []string{"the profiles are valid: maps"}},
		{"profile check " + bad, 2, []string{"a.yaml:1: name: ", "b.yaml:1: title: ", "hint: `accession profile init` writes a profile that explains every field"}},
		{"profile check " + bad + "/none", 4, []string{"no such file or directory"}},
	} {
		code, out, errs := call(t, env, strings.Fields(c.args)...)
		if code != c.code {
			t.Errorf("accession %s: exit code %d, want %d\n%s", c.args, code, c.code, errs)
		}
		for _, want := range c.says {
			if !strings.Contains(out+errs, want) {
				t.Errorf("accession %s: it does not say %q:\n%s%s", c.args, want, out, errs)
			}
		}
	}
}

// The help says of every command that needs a reason, and of no other, that it does.
func TestReasonsThatAreRequired(t *testing.T) {
	t.Parallel()
	env := nowhere(t)
	interrupted, cancel := context.WithCancel(t.Context())
	cancel() // no server is waited for: a reason is asked for before
	id := map[string]string{"batch": "bid0000000001", "job": "jid0000000001", "file": sampleHash, "collection": "maps", "queue": "pending", "timeouts": "download=1h",
		"queue suspend": "metadata", "queue prohibit": "metadata ana", "queue allow": "metadata ana", "queue defaults": "metadata --allocation 1",
		"query": "qid0000000001", "intake close": "--message x", "queue free": "bid0000000001", "queue park": "ana", "queue unpark": "ana", "queue limit": "metadata ana --allocation 1", "queue unlimit": "metadata ana", "processor": "metadata films", "processor set": "metadata films --stopped",
		"dataset": "nights", "dataset add": "nights --profile maps", "discover": "nights", "discover add": "https://data.example.org/night/ --dataset nights",
		"slot": "nights one", "slot add": "nights one --from 2026-12-01T00:00:00Z --to 2026-12-02T00:00:00Z",
		"object": "ark:/99999/fk4x1", "profile": "maps", "profile set": "maps " + aProfile(t)}
	seen := 0
	for _, c := range all((&program{}).root()) {
		f := c.Flags().Lookup("reason")
		if f == nil {
			continue
		}
		seen++
		args := strings.Fields(c.CommandPath())[1:]
		given, own := id[strings.Join(args, " ")]
		if !own {
			given = id[c.Parent().Name()]
		}
		args = append(append(args, strings.Fields(given)...), "-o", "json")
		if c.Flags().Lookup("yes") != nil {
			args = append(args, "--yes")
		}
		if c.Name() == "priority" {
			args = append(args, "--to", "1")
		}
		var out bytes.Buffer
		Main(interrupted, args, IO{Out: &out, Err: &out, Environ: env})
		if said, asked := strings.Contains(f.Usage, "(required)"), strings.Contains(out.String(), "needs a reason"); said != asked {
			t.Errorf("accession %s without a reason: %sits help says of --reason %q", strings.Join(args, " "), &out, f.Usage)
		}
	}
	if seen < 15 {
		t.Errorf("only %d commands take a reason", seen)
	}
}

// aProfile returns the file of a profile.
func aProfile(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "maps.yaml")
	if err := os.WriteFile(name, []byte("name: maps\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}
