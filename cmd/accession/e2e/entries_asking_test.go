package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"

	"golang.org/x/sync/errgroup"

	"github.com/accession-ingest/accession/cmd/internal/app/entries"
	"github.com/accession-ingest/accession/domain/entry"
)

// asker is one of the requests under the shared keys of an [entriesLoad], over HTTP: as
// `accession compute submit --wait` does, it asks until its entry has a result.
type asker struct {
	load   *entriesLoad
	number int
	key    string
	shown  entries.Work // as it was shown last
}

// submit requests the work, again while no answer comes.
func (a *asker) submit() error {
	l, w := a.load, a.load.asked(a.key)
	body, err := json.Marshal(map[string]any{"dataset": w.Dataset, "group": w.Group, "priority": w.Priority, "key": w.Key, "inputs": w.Inputs})
	if err != nil {
		return err
	}
	return a.insist("entries", string(body), http.StatusOK, l)
}

// look asks where the entry stands.
func (a *asker) look() error {
	return a.insist("entries/"+string(a.shown.ID), "", http.StatusOK, a.load)
}

// insist asks one process or the other until one answers.
func (a *asker) insist(path, body string, want int, l *entriesLoad) error {
	for n := a.number; l.t.Context().Err() == nil; n++ {
		before := a.shown.ID
		status, err := l.ask(l.t.Context(), n, path, body, &a.shown)
		switch {
		case err != nil || status >= http.StatusInternalServerError || status == http.StatusTooManyRequests:
			continue
		case status != want:
			return fmt.Errorf("the request under %s is answered with %d", a.key, status)
		case before != "" && a.shown.ID != before || a.shown.Key != a.key:
			return fmt.Errorf("the request under %s is answered with %+v, before with %s", a.key, a.shown, before)
		}
		return nil
	}
	return l.t.Context().Err()
}

// has reports whether the result is there.
func (a *asker) has() bool { return a.shown.Status == entry.Successful && a.shown.Result != nil }

// look lets some of the requests that have no result ask for it.
func (l *entriesLoad) look(which func(i int) bool) (left int) {
	l.t.Helper()
	var looking errgroup.Group
	looking.SetLimit(32)
	for i, a := range l.askers {
		if !a.has() && which(i) {
			looking.Go(a.look)
		}
	}
	l.must(looking.Wait())
	for _, a := range l.askers {
		if !a.has() {
			left++
		}
	}
	return left
}

// answered waits until all requests have their result, which is the one result of their key.
func (l *entriesLoad) answered() {
	l.t.Helper()
	waitFor(l.t, "every request to have its result", func() bool {
		l.retry()
		left := 0
		for i := range sharedKeys { // those of a key all at once, when the first of them has it
			a := l.askers[i]
			if !a.has() {
				l.must(a.look())
			}
			if !a.has() {
				left++
			}
		}
		return left == 0
	})
	if left := l.look(func(int) bool { return true }); left > 0 {
		l.t.Errorf("%d requests have no result, whose key has one", left)
	}
	results := map[string]string{}
	for _, a := range l.askers {
		said := fmt.Sprint(a.shown.ID, a.shown.Result)
		if a.has() {
			said = fmt.Sprint(a.shown.ID, *a.shown.Result)
		}
		if results[a.key] == "" {
			results[a.key] = said
		}
		if said != results[a.key] {
			l.t.Errorf("%s has the results %s and %s", a.key, results[a.key], said)
		}
	}
	if len(l.askers) != l.requests || len(results) != sharedKeys {
		l.t.Errorf("%d requests under %d keys", len(l.askers), len(results))
	}
}
