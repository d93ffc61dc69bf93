package compute_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/domain/entry"
)

var request = compute.Request{Work: entry.Work{Dataset: "maps", Group: "2026", Priority: 100, Key: "k"}, Request: entry.Request{Submitter: "anna", Inputs: []string{"https://x.test/a"}}}

var failed = domain.Reason{Class: domain.ClassContent, Code: domain.CodeBadFile, Message: "it cannot be read"}

// apply decides a command and applies its event.
func apply(t rapid.TB, e compute.Entry, cmd compute.Command) (compute.Entry, error) {
	t.Helper()
	d, err := compute.Decide(e, cmd)
	if err != nil {
		return e, err
	}
	for _, event := range d.Events {
		if e, err = compute.Evolve(e, domain.Recorded{Event: event, CommandID: "c"}); err != nil {
			t.Fatalf("%+v: %v", cmd, err)
		}
	}
	return e, nil
}

func TestEntryLives(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		commands []compute.Command
		state    entry.State
		attempt  int
		refused  bool // the last
	}{
		"waits":            {[]compute.Command{request}, entry.Pending, 0, false},
		"twice":            {[]compute.Command{request, request}, entry.Pending, 0, true},
		"done":             {[]compute.Command{request, compute.Claim{Worker: "w"}, compute.Complete{}}, entry.Successful, 1, false},
		"late":             {[]compute.Command{request, compute.Claim{Worker: "w"}, compute.Complete{}, compute.Complete{}}, entry.Successful, 1, true},
		"not claimed":      {[]compute.Command{request, compute.Complete{}}, entry.Pending, 0, true},
		"two workers":      {[]compute.Command{request, compute.Claim{Worker: "w"}, compute.Claim{Worker: "v"}}, entry.Staging, 1, true},
		"returned":         {[]compute.Command{request, compute.Claim{Worker: "w"}, compute.Return{Reason: failed}}, entry.Pending, 1, false},
		"given back":       {[]compute.Command{request, compute.Claim{Worker: "w"}, compute.Return{Reason: failed, Uncounted: true}}, entry.Pending, 0, false},
		"used up":          {[]compute.Command{request, compute.Claim{Worker: "w"}, compute.Return{Reason: failed, Attempts: 1}}, entry.Failed, 1, false},
		"uncounted":        {[]compute.Command{request, compute.Claim{Worker: "w"}, compute.Return{Reason: failed, Attempts: 1, Uncounted: true}}, entry.Pending, 0, false},
		"failed":           {[]compute.Command{request, compute.Claim{Worker: "w"}, compute.Fail{Reason: failed}}, entry.Failed, 1, false},
		"cancelled":        {[]compute.Command{request, compute.Fail{Reason: failed}}, entry.Failed, 0, false},
		"tried again":      {[]compute.Command{request, compute.Claim{Worker: "w"}, compute.Fail{Reason: failed}, compute.Retry{}}, entry.Pending, 0, false},
		"nothing to retry": {[]compute.Command{request, compute.Claim{Worker: "w"}, compute.Retry{}}, entry.Staging, 1, true},
		"purged":           {[]compute.Command{request, compute.Fail{Reason: failed}, compute.Purge{}}, entry.Purged, 0, false},
		"purged early":     {[]compute.Command{request, compute.Purge{}}, entry.Pending, 0, true},
		"purged again":     {[]compute.Command{request, compute.Fail{Reason: failed}, compute.Purge{}, request}, entry.Purged, 0, true},
		"no worker":        {[]compute.Command{request, compute.Claim{}}, entry.Pending, 0, true},
		"no dataset":       {[]compute.Command{compute.Request{Request: request.Request}}, entry.None, 0, true},
		"no inputs":        {[]compute.Command{compute.Request{Work: request.Work}}, entry.None, 0, true},
	} {
		e := compute.Entry{ID: compute.NewID(7)}
		var err error
		for i, cmd := range c.commands {
			if e, err = apply(t, e, cmd); err != nil && i+1 < len(c.commands) {
				t.Fatalf("%s: %v", name, err)
			}
		}
		var refused *domain.Refused
		if errors.As(err, &refused) != c.refused || e.State != c.state || e.Attempt != c.attempt || (e.Worker != "") != e.Owned() {
			t.Errorf("%s: %+v, %v", name, e, err)
		}
	}
}

// An entry keeps what it is about, whatever happens to it, and each row can be taken.
func TestEntryAtRandom(t *testing.T) {
	t.Parallel()
	taken := map[string]bool{}
	rapid.Check(t, func(t *rapid.T) {
		e, err := apply(t, compute.Entry{ID: compute.NewID(1)}, request)
		if err != nil {
			t.Fatal(err)
		}
		taken["E1"] = true
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			cmd := rapid.SampledFrom([]compute.Command{compute.Claim{Worker: "w"}, compute.Return{Reason: failed}, compute.Complete{}, compute.Fail{Reason: failed}, compute.Retry{}, compute.Purge{}}).Draw(t, "command")
			d, err := compute.Decide(e, cmd)
			if err != nil {
				continue
			}
			taken[d.Row] = true
			before := e
			e, _ = apply(t, e, cmd)
			switch {
			case e.Work != request.Work || e.Requested != before.Requested || len(e.Request.Inputs) != 1:
				t.Fatalf("it has lost what it is about: %+v", e)
			case e.Attempt < 0 || e.Attempt > compute.DefaultAttempts:
				t.Fatalf("attempt %d", e.Attempt)
			case e.Version != before.Version+1 || before.State == entry.Purged:
				t.Fatalf("%+v after %+v", e, before)
			}
			if stale, err := compute.Evolve(before, domain.Recorded{Event: domain.Event{Type: d.Events[0].Type, Aggregate: e.ID.Aggregate(), Version: before.Version, Data: d.Events[0].Data}}); err == nil {
				t.Fatalf("an event is applied twice: %+v", stale)
			}
		}
	})
	for _, row := range compute.Transitions {
		if !taken[row.Row] {
			t.Errorf("%s was never taken", row.Row)
		}
	}
}

func TestIDs(t *testing.T) {
	t.Parallel()
	if id, err := compute.ParseID("eid0000000042"); err != nil || id != compute.NewID(42) || id.Sequence() != 42 || id.Aggregate().String() != "entry/eid0000000042" {
		t.Errorf("%v, %v", id, err)
	}
	for _, s := range []string{"", "eid42", "jid0000000042", "eid0000000000", "0000000042", "eid-000000042"} {
		if _, err := compute.ParseID(s); err == nil {
			t.Errorf("%q is taken for an id", s)
		}
	}
}

// The table of the page is that of the rules.
func TestPageHasTheTable(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/compute.md")
	if err != nil {
		t.Fatal(err)
	}
	var table strings.Builder
	for _, row := range compute.Transitions {
		fmt.Fprintf(&table, "| %s | %s | %s | `%s` | %s |\n", row.Row, row.From, row.To, row.Event, row.By)
	}
	if !strings.Contains(string(page), strings.ReplaceAll(table.String(), "|  |", "| |")) {
		t.Errorf("docs/compute.md lacks the table:\n%s", table.String())
	}
}
