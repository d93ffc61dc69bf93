package daemon

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/daemon/limits"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/memory"
)

// servedBy are depositors' servers of one file each, and what of the permits was seen while
// they were used.
type servedBy struct {
	sites []*web
	hosts []string

	mu       sync.Mutex
	most     int             // permits for these servers at once
	without  map[string]bool // servers that were used without a permit
	requests map[string]int  // by method and host
}

// servers starts depositors' servers, and returns them with a manifest of their files.
func (w *fixture) servers(t *testing.T, n int) (s *servedBy, manifest string) {
	t.Helper()
	s = &servedBy{without: map[string]bool{}, requests: map[string]int{}}
	look := w.mem.Session()
	p := w.set[tides]
	var rows []string
	for i := range n {
		site := newWeb(t)
		host := strings.TrimPrefix(site.URL, "http://")
		s.sites, s.hosts = append(s.sites, site), append(s.hosts, host)
		p.Fetch.Allow = append(p.Fetch.Allow, host)
		rows = append(rows, fmt.Sprintf("%s/f | | | | | f%02d |", site.URL, i))
		site.on("/f", func(rw http.ResponseWriter, r *http.Request) {
			s.note(t, look, host, r)
			rw.Header().Set("Content-Length", "1")
			_, _ = rw.Write([]byte("f"))
		})
	}
	w.set[tides] = p
	return s, manifestOf("mrt-ingest-manifest", rows...)
}

// note notes which permits are held while a server is used.
func (s *servedBy) note(t *testing.T, look *memory.Store, host string, r *http.Request) {
	held, err := look.Permits(t.Context(), 10_000)
	if err != nil {
		t.Error(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests[r.Method+" "+host]++
	n := 0
	for _, h := range held {
		if slices.Contains(s.hosts, h.Of.Name) {
			n++
		}
	}
	s.most = max(s.most, n)
	if !slices.ContainsFunc(held, func(h eventstore.PermitsTaken) bool { return h.Of == eventstore.PermitOf{Name: host} }) {
		s.without[host] = true
	}
}

// check checks that each server got a request, under a permit.
func (s *servedBy) check(t *testing.T, method string, want int) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, host := range s.hosts {
		if n := s.requests[method+" "+host]; n != want {
			t.Errorf("%s got %d of %s", host, n, method)
		}
	}
	if len(s.without) > 0 {
		t.Errorf("used without a permit: %v", s.without)
	}
}

// busy takes the only permit for a server, which another process then has.
func (w *fixture) busy(host string) (free func()) {
	w.Helper()
	other := w.mem.Session()
	p, err := other.TakePermit(w.Context(), eventstore.PermitOf{Name: host}, 1)
	if err != nil {
		w.Fatal(err)
	}
	return func() { other.ReturnPermit(p) }
}

// A manifest may name more servers than a step uses at once: it uses them group by group,
// each under a permit, in one claim.
// Shows: P11
func TestManifestOfManyServers(t *testing.T) {
	t.Parallel()
	w := newFixture(t, inNotebook)
	s, text := w.servers(t, limits.MaxServers+8)
	w.web.serve("/o.checkm", text)
	id := w.jobIn(domain.JobEstimating, domain.TypeObjectManifest, "/o.checkm")
	w.turn(domain.DaemonJobEstimating)
	w.wantJob(id, domain.JobProvisioning, "")
	s.check(t, http.MethodHead, 1)
	w.turn(domain.DaemonJobProvisioning)
	w.turn(domain.DaemonJobDownloading)
	w.wantJob(id, domain.JobProcessing, "")
	s.check(t, http.MethodGet, 1)
	if s.most < limits.MaxServers {
		t.Errorf("at most %d servers were used at once", s.most)
	}
}

// While another process uses a server of the second group as often as may be, sizes there
// count as unknown, the files of the first group are got, and got once, and the job waits
// for that server.
// Shows: P11
func TestServerOfASecondGroupIsBusy(t *testing.T) {
	t.Parallel()
	w := newFixture(t, inNotebook, func(w *fixture) { w.cfg.HostPermits = 1 })
	s, text := w.servers(t, limits.MaxServers+8)
	w.web.serve("/o.checkm", text)
	last := slices.Max(s.hosts) // servers of equally many files are in the order of their names
	free := w.busy(last)
	id := w.jobIn(domain.JobEstimating, domain.TypeObjectManifest, "/o.checkm")
	w.turn(domain.DaemonJobEstimating)
	w.wantJob(id, domain.JobProvisioning, "")
	for _, e := range w.recorded(id.Aggregate()) {
		if d, is := e.Data.(*domain.JobEstimated); is && (d.Files != len(s.hosts) || d.Unknown != 8) {
			t.Errorf("it was estimated as %+v", d)
		}
	}
	w.turn(domain.DaemonJobProvisioning)
	w.turn(domain.DaemonJobDownloading)
	if j := w.wantJob(id, domain.JobDownloading, domain.CodeServerBusy); j.Reason != nil && !strings.Contains(j.Reason.Message, last) {
		t.Errorf("it waits with %q", j.Reason.Message)
	}
	if n := s.requests["GET "+last]; n != 0 {
		t.Errorf("the busy server got %d requests", n)
	}
	free()
	w.clock.Advance(hostCycle)
	w.turn(domain.DaemonJobDownloading)
	w.wantJob(id, domain.JobProcessing, "")
	s.check(t, http.MethodGet, 1)
}

// Jobs that wait for a server which only their manifests name wait for it without a claim,
// and their submitters take turns there: one job does not wait for all of another's.
// Shows: P11
func TestTurnsAtAServerOfManifests(t *testing.T) {
	t.Parallel()
	w := newFixture(t, inNotebook, func(w *fixture) { w.cfg.HostPermits = 1 })
	s, text := w.servers(t, 1)
	var jobs []domain.JobID // whose manifest no process has read
	for _, by := range []string{"mallory", "mallory", "mallory", "mallory", "ana"} {
		jobs = append(jobs, w.jobIn(domain.JobDownloading, domain.TypeObjectManifest, "/o.checkm", func(s *domain.Submission) { s.Submitter = by }))
	}
	w.web.serve("/o.checkm", text)
	free := w.busy(s.hosts[0])
	d := daemonNamed(domain.DaemonJobDownloading)
	for range jobs {
		w.turnOf(d)
	}
	w.clock.Advance(hostCycle)
	for _, id := range jobs {
		w.wantJob(id, domain.JobDownloading, domain.CodeServerBusy)
		gate := w.r.jobGate(d, w.r.admission(d))
		if full := gate.Enter(t.Context(), w.job(id)); full != s.hosts[0] {
			t.Errorf("the gate of %s has %q full", id, full)
		}
		gate.Leave()
	}
	free()
	var by []string
	for range 2 {
		turn, err := w.r.claim(t.Context(), d)
		if err != nil {
			t.Fatal(err)
		}
		id := turn.job.Job.ID
		by = append(by, turn.job.Job.Configuration.Submitter)
		turn.run(t.Context())
		w.wantJob(id, domain.JobProcessing, "")
		if full := w.r.awaited.Of(id); full != "" {
			t.Errorf("%s moved on, and is remembered to wait for %s", id, full)
		}
	}
	if slices.Sort(by); !slices.Equal(by, []string{"ana", "mallory"}) {
		t.Errorf("the first two were of %v", by)
	}
}
