//go:build soak && linux && !race

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain"
)

// Of the jobs that wait at once most have a row that is no deposit, and fail without a
// download; one in each goodEvery of the first batch has a file.
const (
	waitingBatches, waitingRows = 6, 10_000
	goodEvery                   = 10
	// remembered is for what is kept within bounds: where the relays know that jobs
	// stood in the log, and maps, which do not shrink.
	remembered = 64 << 20
	// longest is how long any part may take on a machine that has other things to do.
	longest = 20 * time.Minute
)

// manyRows serves manifests of so many rows, /good with good ones among them.
func manyRows(t testing.TB) (base string) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/file/") {
			fmt.Fprintln(w, r.URL.Path)
			return
		}
		rows := make([]string, waitingRows)
		for i := range rows {
			scheme := "gopher"
			if r.URL.Path == "/good" && i%goodEvery == 0 {
				scheme = "http"
			}
			rows[i] = fmt.Sprintf("%s://%s/file/%d | | | | | file-%d.txt | | waits-%d | A creator | Title | 2026", scheme, r.Host, i, i, i)
		}
		_, _ = w.Write(checkm("mrt-single-file-batch-manifest", batchColumns, rows...))
	}))
	t.Cleanup(web.Close)
	return web.URL
}

// lap returns a figure of what was done since the last one.
func (s *storm) lap(begun *time.Time, format string, args ...any) {
	s.t.Helper()
	figure(s.t.(*testing.T), "%.1f s: %s", time.Since(*begun).Seconds(), fmt.Sprintf(format, args...))
	*begun = time.Now()
}

// TestSoakSixtyThousandWait lets sixty thousand jobs wait at once, with the limit
// raised. While they do all agrees, and who asks gets an answer. Then they come to
// rest and are deleted, and everything takes what it took before.
// Shows: P1 P8
func TestSoakSixtyThousandWait(t *testing.T) {
	s := newStorm(t, func(*rand.Rand) []string {
		return []string{fmt.Sprintf("queue_limit=%d", 2*waitingBatches*waitingRows)}
	})
	ctx, cancel := context.WithTimeout(t.Context(), longest)
	defer cancel()
	s.serves(1)
	s.rests(s.deposit("again"))
	s.still()
	for _, verb := range []string{"pause", "resume"} { // a queue that was paused once has a node for ever
		s.run("queue", verb, "pending", "estimating", "--yes")
	}
	before := s.takes(s.workers...)

	base, begun := manyRows(t), time.Now()
	s.run("queue", "pause", "pending", "estimating", "--yes")
	var ids []domain.BatchID
	for i := range waitingBatches {
		url := base + "/faulty"
		if i == 0 {
			url = base + "/good"
		}
		d, err := s.app.Submit(ctx, app.Deposit{Profile: "test", Submitter: "tester", Payload: url, Type: domain.TypeFileBatchManifest})
		s.must(err)
		ids = append(ids, d.Batch)
	}
	started := map[domain.BatchID]bool{}
	s.await("the start of all batches", 0, func(r domain.Recorded) bool {
		if r.Type == domain.EventBatchStarted {
			started[r.BatchID] = true
		}
		return len(started) == 1+len(ids)
	})
	s.must(s.app.CatchUp(ctx))
	s.lap(&begun, "%d jobs wait, and the tables have them", waitingBatches*waitingRows)
	s.listed(&begun)
	s.agrees(&begun)

	s.run("queue", "resume", "pending", "estimating", "--yes")
	for _, id := range ids {
		_, err := s.app.Watch(ctx, id, 0, func(app.Event, app.Progress) {})
		s.must(err)
	}
	s.must(s.app.CatchUp(ctx))
	if n := s.count(`select count(*) from accession.job where status = 'completed'`); n != 1+waitingRows/goodEvery {
		t.Errorf("%d jobs completed", n)
	}
	s.lap(&begun, "all at rest")
	for _, id := range ids {
		s.run("batch", "delete", string(id), "--yes", "--reason", "only a test")
	}
	s.still()
	s.lap(&begun, "all deleted, each with its event")
	s.back(before, remembered, s.workers...)
	begun = time.Now()
	s.agrees(&begun)
	s.apart(ctx)
}

// listed asks what operators ask while so many wait.
func (s *storm) listed(begun *time.Time) {
	s.t.Helper()
	wait := fmt.Sprint(waitingBatches * waitingRows)
	for _, line := range []string{"queue ls", "status", "job ls --state pending"} {
		if out := s.run(strings.Fields(line)...); !strings.Contains(out, wait) {
			s.t.Errorf("accession %s does not say %s:\n%s", line, wait, out)
		}
		s.lap(begun, "accession %s", line)
	}
	n, pages := 0, 0
	for after, cursor := "", ""; ; {
		pages++
		var page app.Page[app.JobRow]
		s.must(json.Unmarshal([]byte(s.run("job", "ls", "--state", "pending", "--limit", "1000", "--cursor", cursor, "-o", "json")), &page))
		for _, j := range page.Items {
			if j.ID <= after {
				s.t.Fatalf("%s comes after %s", j.ID, after)
			}
			after = j.ID
		}
		n += len(page.Items)
		if cursor = string(page.Next); cursor == "" {
			break
		}
	}
	if n != waitingBatches*waitingRows {
		s.t.Errorf("all pages of accession job ls have %d jobs", n)
	}
	s.lap(begun, "all %d pages of accession job ls", pages)
}

// agrees fails the test unless verify finds nothing.
func (s *storm) agrees(begun *time.Time) {
	s.t.Helper()
	v, err := s.app.Verify(s.t.Context(), app.VerifyOptions{Wait: 30 * time.Second})
	s.must(err)
	for _, f := range v.Findings[:min(len(v.Findings), 20)] {
		s.t.Errorf("verify: %s", f)
	}
	s.lap(begun, "verify of %d events, %d jobs", v.Events, v.Jobs)
}
