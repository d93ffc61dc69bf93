package e2e

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/fetch"
	"github.com/accession-ingest/accession/cmd/internal/run"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// outcome returns how the last poll of a discovery ended, and why it was not complete.
func (p *polledInstallation) outcome(discovery string) (outcome, why string) {
	p.t.Helper()
	db, err := p.wired.DB(p.ctx())
	p.must(err)
	p.must(db.QueryRow(p.ctx(), "select outcome, error from record.discovery where name = $1", discovery).Scan(&outcome, &why))
	return outcome, why
}

// TestPauseOfAServer: a server that asks to be left alone is asked for none of its directories, and
// for none of their files, until it answers an operator's poll; other servers are asked.
// Shows: P1
func TestPauseOfAServer(t *testing.T) {
	t.Parallel()
	dir, other := newOpenDirectory(t, "1_a.dat 20-Nov-2026 09:05 25"), newOpenDirectory(t, "1_b.dat 20-Nov-2026 09:05 25")
	var days, fetched atomic.Int64
	dir.answer(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/day/" {
			fetched.Add(1)
			_, _ = io.WriteString(w, "content of "+r.URL.Path)
			return
		}
		days.Add(1)
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, "<html><head><title>Index of /day/</title></head><body><h1>Index of /day/</h1><hr><pre><a href=\"../\">../</a>\n</pre><hr></body></html>")
	})
	in := newInstallation(t)
	p := newPolled(t, in, dir)
	p.polled()
	dir.set(func() { dir.busy = 7200 })
	if last := p.asked(); last.Outcome != "postponed" {
		t.Errorf("a busy server: %+v", last)
	}
	in.says(0, []string{"discover", "add", dir.URL + "/day/", "--dataset", "nights", "--name", "days", "--reason", "also by day"})
	in.says(0, []string{"discover", "add", other.URL + "/night/", "--dataset", "nights", "--name", "others", "--reason", "another server"})
	p.shown()
	p.must(p.poller.Once(p.ctx()))
	if outcome, why := p.outcome("days"); outcome != "postponed" || !strings.Contains(why, "left alone, for another 2h0m0s") && !strings.Contains(why, "left alone, for another 1h59m") || days.Load() != 0 {
		t.Errorf("another directory of the server: %s %s, asked %d times", outcome, why, days.Load())
	}
	if outcome, why := p.outcome("others"); outcome != "complete" {
		t.Errorf("a directory of another server: %s %s", outcome, why)
	}
	if p.count("select count(*) from record.discovery where name = 'days' and next_at between ended_at + interval '110 minutes' and ended_at + interval '2 hours'") != 1 {
		t.Error("the other directory is polled before the pause is over")
	}

	// The file of the busy server was discovered first, and is not asked for.
	p.shown()
	p.serveInProcess(run.RoleDownload)
	waitFor(t, "the file of the other server", func() bool {
		return p.count("select count(*) from accession.file where path = '1_b.dat' and status = 'DOWNLOADED'") == 1
	})
	if n := fetched.Load(); n != 0 {
		t.Errorf("a server that asks to be left alone is asked for a file %d times", n)
	}
	dir.set(func() { dir.busy = 0 })
	p.went("1_a.dat", "DISCOVERED")
	if last := p.asked(); last.Outcome != "complete" {
		t.Errorf("it answers an operator: %+v", last)
	}
	p.reaches("1_a.dat", domain.FileDownloaded)
	p.exec("update record.discovery set next_at = clock_timestamp()")
	p.must(p.poller.Once(p.ctx()))
	if outcome, why := p.outcome("days"); outcome != "complete" || days.Load() != 1 {
		t.Errorf("after the pause: %s %s, asked %d times", outcome, why, days.Load())
	}
}

// TestPauseOfTheServerOfAJob: a job does not ask a server for its file that has asked to be left
// alone, and goes on when the pause is over.
// Shows: P1
func TestPauseOfTheServerOfAJob(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	files, other := newOpenDirectory(t, ""), newOpenDirectory(t, "")
	for _, d := range []*openDirectory{files, other} {
		d.answer(func(w http.ResponseWriter, r *http.Request) {
			if d == files {
				asked.Add(1)
			}
			_, _ = io.WriteString(w, "content of "+r.URL.Path)
		})
	}
	in := newInstallation(t)
	in.exec("insert into record.host_pause (host, until_at) values ('" + fetch.Host(files.URL) + "', clock_timestamp() + interval '1 hour')")
	for _, d := range []*openDirectory{files, other} {
		in.says(0, []string{"submit", "--profile", "test", "--type", "file", d.URL + "/a.dat"}) // else it is looked at
	}
	in.serveInProcess(run.RoleDaemons, run.RoleRelay, run.RoleProjector)
	completed := func() int { return in.count("select count(*) from accession.job where status = 'completed'") }
	waitFor(t, "the job whose server may be asked", func() bool { return completed() == 1 })
	if n := asked.Load(); n != 0 {
		t.Errorf("the server is asked %d times", n)
	}
	in.exec("delete from record.host_pause")
	waitFor(t, "the other job", func() bool { return completed() == 2 })
}

// TestPauseThatAFileAsksFor: the server of a file that asks to be left alone is not asked for its
// directory either.
// Shows: P1
func TestPauseThatAFileAsksFor(t *testing.T) {
	t.Parallel()
	dir := newOpenDirectory(t, "1_a.dat 20-Nov-2026 09:05 25")
	dir.answer(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "7200")
		w.WriteHeader(http.StatusTooManyRequests)
	})
	p := newPolled(t, newInstallation(t), dir)
	p.polled()
	p.shown()
	p.serveInProcess(run.RoleDownload)
	waitFor(t, "the attempt to fail", func() bool { return p.count("select count(*) from record.host_pause") == 1 })
	listed := dir.listed
	p.exec("update record.discovery set next_at = clock_timestamp()")
	if last := p.polled(); last.Outcome != "postponed" || dir.listed != listed {
		t.Errorf("%+v, asked %d times more", last, dir.listed-listed)
	}
}

// TestPermitsOfPolls: a poll holds a permit for the server, of those that downloads take too, while
// it asks, and without one it is postponed and nothing is asked.
func TestPermitsOfPolls(t *testing.T) {
	t.Parallel()
	dir := newOpenDirectory(t, "1_a.dat 20-Nov-2026 09:05 25")
	in := newInstallation(t, "host_permits=1")
	p := newPolled(t, in, dir)
	of := eventstore.PermitOf{Name: fetch.Host(dir.URL)}
	live, err := in.wired.LiveState(p.ctx())
	p.must(err)
	held, err := live.TakePermit(p.ctx(), of, 1)
	p.must(err)
	if last := p.polled(); last.Outcome != "postponed" || !strings.Contains(last.Error, "all permits for its server are taken") || dir.listed != 0 {
		t.Errorf("while another has the permit: %+v, asked %d times", last, dir.listed)
	}
	live.ReturnPermit(held)
	var taken []eventstore.PermitsTaken
	var unread error
	dir.set(func() {
		dir.listing = func() { taken, unread = live.Permits(p.ctx(), 10) }
	})
	waitFor(t, "the permit to be free", func() bool { return p.asked().Outcome == "complete" })
	dir.set(func() {
		if want := (eventstore.PermitsTaken{Of: of, Taken: 1}); unread != nil || len(taken) != 1 || taken[0] != want {
			t.Errorf("while it is polled: %+v, %v", taken, unread)
		}
	})
	waitFor(t, "the permit to be returned", func() bool {
		free, err := live.TakePermit(p.ctx(), of, 1)
		if err == nil {
			live.ReturnPermit(free)
		}
		return err == nil
	})
}
