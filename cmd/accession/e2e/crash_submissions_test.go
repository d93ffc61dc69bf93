package e2e

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/accession-ingest/accession/domain"
)

// submitting is one deposit of a URL over HTTP.
type submitting struct {
	name   string // of its file
	key    string // idempotency key, "" = none
	point  string // at which its process dies
	answer domain.BatchID
}

// submits sends a deposit once and notes the answer; an error is none. The query of its URL
// is a secret, which is kept before; that it has a digest is kept after.
func (o *crashInstallation) submits(at, key, files string, s *submitting) error {
	body := fmt.Sprintf(`{"profile":"test","type":"file","url":"%s/%s?token=%s","digest":"sha256:%x"}`, files, s.name, secret, sha256.Sum256([]byte(s.name)))
	r, err := http.NewRequestWithContext(o.ctx(), http.MethodPost, "http://"+at+"/v1/submissions", strings.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+key)
	if s.key != "" {
		r.Header.Set("Idempotency-Key", s.key)
	}
	res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	var is struct {
		ID domain.BatchID `json:"id"`
	}
	if err := json.NewDecoder(res.Body).Decode(&is); err != nil || res.StatusCode != http.StatusAccepted {
		return fmt.Errorf("%s: %s %w", s.name, res.Status, err)
	}
	if s.answer != "" && s.answer != is.ID {
		o.t.Errorf("%s, of the process that died at %s, was answered with %s and with %s", s.name, s.point, s.answer, is.ID)
	}
	s.answer = is.ID
	return nil
}

// listens waits until something does at an address, or the process is dead.
func listens(at string, dead <-chan struct{}) {
	for {
		res, err := http.Get("http://" + at + "/v1/self") //nolint:noctx // of this machine; refused without a key
		if err == nil {
			_ = res.Body.Close()
			return
		}
		select {
		case <-dead:
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// passes returns the points that a process passes while it takes two deposits.
func (o *crashInstallation) passes(key, files string, of ...submitting) (points []string) {
	o.t.Helper()
	return o.passed(func(at string) {
		for i := range of {
			o.must(o.submits(at, key, files, &of[i]))
		}
	})
}

// passed returns the points that a process of the role http passes while it is asked.
func (o *crashInstallation) passed(ask func(at string)) (points []string) {
	o.t.Helper()
	file, at := filepath.Join(o.t.TempDir(), "passed"), port(o.t)
	s := o.serveAt("ACCESSION_PASSED="+file, "--roles", "http", "--set", "listen_http="+at)
	listens(at, nil)
	before, err := os.ReadFile(file)
	o.must(err)
	ask(at)
	after, err := os.ReadFile(file)
	o.must(err)
	s.stop()
	points = strings.Fields(string(after[len(before):]))
	slices.Sort(points)
	return slices.Compact(points)
}

// TestSubmissionKilledAtEachStep: a process dies at each point that it passes while it takes
// the deposit of a URL, with and without an idempotency key. What was answered is one batch;
// what was not is none or one; and under its key, sent again, it is one.
// Shows: P1 P19
func TestSubmissionKilledAtEachStep(t *testing.T) {
	t.Parallel()
	o := newCrashInstallation(t, func(*crashInstallation) {})
	files := webServer(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { fmt.Fprint(rw, path.Base(r.URL.Path)) }))
	key := o.keyOf("ana", "depositor", "--all")
	of := func(n int, key, point string) submitting {
		s := submitting{name: fmt.Sprintf("submitted-%d.txt", n), point: point}
		if key != "" {
			s.key = fmt.Sprintf("%s %d", key, n)
		}
		return s
	}
	var tries []submitting
	for i, with := range []string{"", "key"} {
		way := o.passes(key, files, of(2*i, with, ""), of(2*i+1, with, ""))
		t.Logf("with the key %q: %s", with, strings.Join(way, " "))
		for _, point := range way {
			tries = append(tries, of(1000*(len(tries)+1), with, point))
		}
		for _, must := range []string{"record/payload-url/keep", "zklive/ids/reserve", "zklive/deliver/multi", "record/deposit/keep", "record/command/keep"} {
			for _, point := range []string{must + "/before", must + "/after"} {
				if !slices.Contains(way, point) && (with != "" || must != "record/command/keep") {
					t.Errorf("the way of a deposit with the key %q does not pass %s", with, point)
				}
			}
		}
	}
	if len(tries) < 18 {
		t.Errorf("only %d points", len(tries))
	}
	tries = thirdOf(t, tries)
	// Each process takes one deposit after the other until it dies.
	var all sync.WaitGroup
	var mu sync.Mutex
	var sent []submitting
	next := make(chan int)
	for range 4 {
		all.Go(func() {
			for i := range next {
				at := port(t)
				o.dies(tries[i].point, func(_ *os.Process, dead <-chan struct{}) {
					listens(at, dead)
					for n := 1000 * (i + 1); ; n++ {
						select {
						case <-dead:
							return
						default:
						}
						s := of(n, strings.Split(tries[i].key, " ")[0], tries[i].point)
						err := o.submits(at, key, files, &s)
						mu.Lock()
						sent = append(sent, s)
						mu.Unlock()
						if err != nil {
							return
						}
					}
				}, "serve", "--roles", "http", "--set", "listen_http="+at)
			}
		})
	}
	for i := range tries {
		next <- i
	}
	close(next)
	all.Wait()

	at := port(t)
	s := o.serve("--roles", "http", "--set", "listen_http="+at)
	listens(at, nil)
	unanswered := 0
	for i := range sent {
		if sent[i].answer == "" {
			unanswered++
		}
		for range 2 {
			if sent[i].key != "" {
				o.must(o.submits(at, key, files, &sent[i]))
			}
		}
	}
	s.stop()
	s = o.serve()
	s.works()
	o.still()
	s.stop()
	for _, s := range sent {
		n := o.count(`select count(*) from accession.batch where file_name = $1`, s.name)
		if n > 1 || n == 0 && s.answer != "" {
			t.Errorf("%d batches of %s, answered with %q, after a death at %s", n, s.name, s.answer, s.point)
		}
		if s.answer != "" && o.count(`select count(*) from accession.batch where file_name = $1 and id = $2`, s.name, string(s.answer)) != 1 {
			t.Errorf("%s was answered with %s, which is another batch", s.name, s.answer)
		}
	}
	if unanswered < len(tries)*3/4 {
		t.Errorf("of %d processes that died only %d have left a deposit unanswered", len(tries), unanswered)
	}
	o.sound()
}
