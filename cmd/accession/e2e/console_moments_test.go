package e2e

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/internal/testkit/browser"
)

// folded is what the log says up to a sequence: the states of all that is shown as it was, and whose
// it is.
type folded struct {
	states     map[domain.Kind]map[string]string
	batches    map[string]domain.BatchID // of jobs and files
	submitters map[string]int            // how many batches are theirs
}

// foldedTo folds the log up to a sequence, of what a user has submitted, "" = all.
func foldedTo(log []domain.Recorded, seq uint64, submitter string) folded {
	f := folded{map[domain.Kind]map[string]string{domain.KindBatch: {}, domain.KindJob: {}, domain.KindFile: {}}, map[string]domain.BatchID{}, map[string]int{}}
	own := map[domain.BatchID]bool{}
	for _, r := range log {
		if r.Seq > seq {
			break
		}
		if d, is := r.Data.(*domain.BatchSubmitted); is && d.Submission.Submitter == submitter {
			own[r.BatchID] = true
		}
		if submitter != "" && !own[r.BatchID] {
			continue
		}
		states, id := f.states[r.Aggregate.Kind], r.Aggregate.ID
		if d, is := r.Data.(*domain.BatchSubmitted); is {
			f.submitters[d.Submission.Submitter]++
		}
		if m, is := domain.MoveOfBatch(r.Data); is {
			states[id] = string(m.To)
		} else if m, is := domain.MoveOfJob(r.Data); is {
			states[id] = string(m.To)
		} else if m, is := domain.MoveOfFile(r.Data); is {
			states[id] = string(m.To)
		} else if r.Aggregate.Kind == domain.KindJob {
			states[id] = cmp.Or(states[id], string(domain.JobPending))
		}
		if states != nil && r.BatchID != "" {
			f.batches[id] = r.BatchID
		}
	}
	return f
}

// jobs counts jobs as the sums of pages do, of a batch, "" = all.
func (f folded) jobs(of domain.BatchID) (parts map[string]int, all int) {
	parts = map[string]int{"completed": 0, "failed": 0, "held": 0, "deleted": 0, "in progress": 0}
	for id, state := range f.states[domain.KindJob] {
		if of != "" && f.batches[id] != of {
			continue
		}
		if _, ends := parts[state]; !ends {
			state = "in progress"
		}
		parts[state]++
		all++
	}
	return parts, all
}

// moments compares the overview, and the pages of a batch, of a job and of a file, at 30 random
// sequences of the whole log with what it says up to there; what was not there yet has no page.
func (c *consoled) moments(p *browser.Tab) {
	c.t.Helper()
	c.shown()
	log, err := c.wired.Log(c.ctx())
	c.must(err)
	var whole []domain.Recorded
	for r, err := range log.Read(c.ctx(), eventstore.ReadOptions{}) {
		c.must(err)
		whole = append(whole, r)
	}
	last := foldedTo(whole, whole[len(whole)-1].Seq, "")
	ana := c.signedIn("ana") // a depositor, who is counted what is its own
	random := seed(c.t)
	one := func(kind domain.Kind) string {
		all := slices.Sorted(maps.Keys(last.states[kind]))
		return all[random.IntN(len(all))]
	}
	compared := map[domain.Kind]int{}
	for range 30 {
		seq := whole[random.IntN(len(whole))].Seq
		then := foldedTo(whole, seq, "")
		c.overviewAt(p, then, seq)
		c.overviewAt(ana, foldedTo(whole, seq, "ana"), seq)
		for kind, path := range map[domain.Kind]string{domain.KindBatch: "batches", domain.KindJob: "jobs", domain.KindFile: "files"} {
			id := one(kind)
			p.Open(fmt.Sprintf("%s/console/%s/%s?at=%d", c.url, path, id, seq))
			text, want := p.Text(), then.states[kind][id]
			if want == "" {
				if !strings.Contains(text, fmt.Sprintf("the log had nothing of it at sequence %d,", seq)) {
					c.t.Errorf("%s %s at %d, when there was none: %s", kind, id, seq, text)
				}
				continue
			}
			compared[kind]++
			if state := browser.Eval[string](p, `document.querySelector(".big .state")?.innerText ?? ""`); !strings.EqualFold(state, strings.ReplaceAll(want, "_", " ")) || !strings.Contains(text, fmt.Sprintf("As it was at sequence %d of the log", seq)) {
				c.t.Errorf("%s %s at %d is %q, want %s: %s", kind, id, seq, state, want, text)
			}
			if kind == domain.KindBatch {
				c.batchAt(p, then, last, domain.BatchID(id), seq)
			}
		}
	}
	c.overviewAt(ana, foldedTo(whole, whole[len(whole)-1].Seq, "ana"), whole[len(whole)-1].Seq)
	if text := ana.Text(); !strings.Contains(text, "ana") || strings.Contains(text, "mallory") {
		c.t.Errorf("the overview of a depositor as of a moment: %s", text)
	}
	if wrong := ana.Wrong(); len(wrong) > 0 {
		c.t.Error(wrong)
	}
	c.t.Logf("compared with the log of %d events: %v", len(whole), compared)
	p.Open(fmt.Sprintf("%s/console/batches/%s?at=%d", c.url, c.failed, whole[len(whole)-1].Seq))
	p.Click(".moment a")
	waitFor(c.t, "the page as it is now", func() bool { return p.At() != "" && !strings.Contains(p.At(), "at=") })
}

// batchAt compares the sums on the page of a batch, which is open.
func (c *consoled) batchAt(p *browser.Tab, then, last folded, id domain.BatchID, seq uint64) {
	c.t.Helper()
	want, made := then.jobs(id)
	_, listed := last.jobs(id)
	// A row of the manifest that has no job yet is in progress too.
	want["in progress"] += listed - made
	got := c.parts(p)
	for part, n := range want {
		if len(got) > 0 && got[part] != fmt.Sprint(n) {
			c.t.Errorf("%s at %d: %s %q, want %d", id, seq, part, got[part], n)
		}
	}
	if len(got) == 0 && made == listed {
		c.t.Errorf("%s at %d: the page has no sum of %d jobs", id, seq, made)
	}
	files := map[string]int{}
	for file, state := range then.states[domain.KindFile] {
		if then.batches[file] == id {
			files[strings.ToLower(state)]++
		}
	}
	got = c.sum(p, "#state .parts", 1)
	for _, part := range []string{"processed", "skipped"} {
		if len(got) > 0 && got[part] != fmt.Sprint(files[part]) || len(got) == 0 && files[part] > 0 {
			c.t.Errorf("%s at %d: %q files are %s, want %d", id, seq, got[part], part, files[part])
		}
	}
}

// overviewAt compares the overview as of a sequence with what the log says up to there.
func (c *consoled) overviewAt(p *browser.Tab, then folded, seq uint64) {
	c.t.Helper()
	p.Open(fmt.Sprintf("%s/console/?at=%d", c.url, seq))
	want, all := then.jobs("")
	got := c.sum(p, "#sums .parts", 0)
	for part, n := range want {
		if got[part] != fmt.Sprint(n) {
			c.t.Errorf("the overview at %d counts %s jobs as %s, want %d", seq, got[part], part, n)
		}
	}
	if text := p.Text(); len(got) != 5 || !strings.Contains(text, fmt.Sprintf("The parts are all %d jobs", all)) || !strings.Contains(text, fmt.Sprintf("sequence %d of the log", seq)) {
		c.t.Errorf("the overview at %d, of %d jobs: %s", seq, all, text)
	}
	batches := browser.Eval[map[string]int](p, `Object.fromEntries([...document.querySelectorAll("[aria-label='Batches by depositor'] tbody tr")].map((r) => [r.children[0].innerText, Number(r.children[1].innerText)]))`)
	if !maps.Equal(batches, then.submitters) {
		c.t.Errorf("the overview at %d has the batches of %v, want %v", seq, batches, then.submitters)
	}
}
