package e2e

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/run"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// hash returns the identity of a file of the directory.
func (d *openDirectory) hash(path string) domain.FileHash {
	return domain.HashFile(d.URL+"/night/", path)
}

// answer has the directory answer requests of its files.
func (d *openDirectory) answer(serve http.HandlerFunc) { d.set(func() { d.serve = serve }) }

// lived returns the states that a file went through, with the codes of the reasons.
func (p *polledInstallation) lived(path string) (states []string) {
	p.t.Helper()
	a := domain.HashFile(p.directory, path).Aggregate()
	log, err := p.wired.Log(p.ctx())
	p.must(err)
	for r, err := range log.Read(p.ctx(), eventstore.ReadOptions{Aggregate: &a}) {
		p.must(err)
		m, _ := domain.MoveOfFile(r.Data)
		state := string(m.To)
		if m.Reason != nil {
			state += ":" + string(m.Reason.Code)
		}
		states = append(states, state)
	}
	return states
}

// reaches waits until a file is in a state.
func (p *polledInstallation) reaches(path string, want domain.FileState) {
	p.t.Helper()
	waitFor(p.t, path+" to be "+string(want), func() bool {
		states := p.lived(path)
		state, _, _ := strings.Cut(states[len(states)-1], ":")
		return state == string(want)
	})
}

func (p *polledInstallation) went(path string, want ...string) {
	p.t.Helper()
	if got := p.lived(path); !slices.Equal(got, want) {
		p.t.Errorf("%s went %v, want %v", path, got, want)
	}
}

// content returns what the working directory has of a file that is downloaded.
func (p *polledInstallation) content(path string) string {
	p.t.Helper()
	files, err := p.wired.FileHandler(p.ctx())
	p.must(err)
	f, err := files.Load(p.ctx(), domain.HashFile(p.directory, path))
	p.must(err)
	work, err := p.wired.Work(p.ctx())
	p.must(err)
	where, err := work.Local().Path(f.Hash, f.SHA256)
	p.must(err)
	data, err := os.ReadFile(where)
	p.must(err)
	if int64(len(data)) != f.Size {
		p.t.Errorf("%s has %d bytes, and the log says %d", path, len(data), f.Size)
	}
	return string(data)
}

// TestFilesOfADirectoryAreDownloaded is the part of the scenarios about downloads, for files
// without a job: Normal, Failure 1, Failure 4, and the operational one.
// Shows: P1
func TestFilesOfADirectoryAreDownloaded(t *testing.T) {
	t.Parallel()
	dir := newOpenDirectory(t, "a.txt 20-Nov-2026 09:05 9", "bad.txt 20-Nov-2026 09:05 9", "slow.txt 20-Nov-2026 09:05 9", "grows.txt 20-Nov-2026 09:05 9", "gone.txt 20-Nov-2026 09:05 9")
	slow, grows := 0, 0
	dir.answer(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/night/bad.txt":
			http.Error(w, "out of order", http.StatusServiceUnavailable)
		case "/night/gone.txt":
			http.NotFound(w, r)
		case "/night/slow.txt":
			dir.set(func() { slow++ })
			if slow == 1 {
				<-r.Context().Done()
				return
			}
			_, _ = io.WriteString(w, "slow text")
		case "/night/grows.txt": // it is still written when it is first fetched
			dir.set(func() { grows++ })
			_, _ = io.WriteString(w, "grown text"[10-8-min(grows, 2)+1:])
		default:
			_, _ = io.WriteString(w, "some text")
		}
	})
	p := newPolled(t, newImpatient(t), dir)
	p.polled()
	p.serveInProcess(run.RoleDownload)
	p.reaches("a.txt", domain.FileDownloaded)
	p.reaches("bad.txt", domain.FileIgnore)
	p.reaches("gone.txt", domain.FileIgnore)
	p.reaches("slow.txt", domain.FileDownloaded)
	p.went("a.txt", "DISCOVERED", "DOWNLOADING", "DOWNLOADED")
	p.went("bad.txt", "DISCOVERED", "DOWNLOADING", "DOWNLOADING_FAILED:http_status", "DOWNLOADING", "DOWNLOADING_FAILED:http_status", "IGNORE:attempts_used_up")
	p.went("gone.txt", "DISCOVERED", "DOWNLOADING", "DOWNLOADING_FAILED:http_status", "IGNORE:attempts_used_up") // another attempt cannot help
	p.went("slow.txt", "DISCOVERED", "DOWNLOADING", "DOWNLOADING_FAILED:timeout", "DOWNLOADING", "DOWNLOADED")
	p.reaches("grows.txt", domain.FileDownloaded)
	p.went("grows.txt", "DISCOVERED", "DOWNLOADING", "DOWNLOADING_FAILED:size_mismatch", "DOWNLOADING", "DOWNLOADED")
	if a, b := p.content("a.txt"), p.content("slow.txt"); a != "some text" || b != "slow text" {
		t.Errorf("%q, %q", a, b)
	}

	// An operator opens a file again that was given up, and a valid copy is there meanwhile.
	files, err := p.wired.FileHandler(p.ctx())
	p.must(err)
	work, err := p.wired.Work(p.ctx())
	p.must(err)
	part, err := work.Local().Create(dir.hash("gone.txt"), 9)
	p.must(err)
	_, err = io.WriteString(part, "some text")
	p.must(err)
	a, err := files.Load(p.ctx(), dir.hash("a.txt"))
	p.must(err)
	p.must(work.Local().Keep(part, dir.hash("gone.txt"), a.SHA256))
	p.says(0, []string{"file", "requeue", string(dir.hash("gone.txt")), "--reason", "it is here"})
	p.reaches("gone.txt", domain.FileDownloaded)
	if states := p.lived("gone.txt"); !slices.Equal(states[len(states)-2:], []string{"DISCOVERED:requested", "DOWNLOADED:already_exists"}) {
		t.Errorf("%v", states)
	}
	p.shown()
	p.says(0, []string{"verify"})
}

// TestWorkerOfADirectoryIsKilled is Failure 4 and Failure 6 for files without a job: a process is killed in the middle of a download, and after it, before the log says so;
// the sweeper ends the attempts, and another process has the files, one of them without fetching
// it again.
// Shows: P1 P5
func TestWorkerOfADirectoryIsKilled(t *testing.T) {
	t.Parallel()
	program, err := crashing()
	if err != nil {
		t.Fatal(err)
	}
	dir := newOpenDirectory(t, "a.txt 20-Nov-2026 09:05 9")
	asked := make(chan int, 10)
	n := 0
	dir.answer(func(w http.ResponseWriter, r *http.Request) {
		dir.set(func() { n++ })
		asked <- n
		if n == 1 {
			<-r.Context().Done()
			return
		}
		_, _ = io.WriteString(w, "some text")
	})
	in := newForProcesses(t, "attempts: 3, timeout: 1s", "download_timeout=1s")
	in.program = program
	p := newPolled(t, in, dir)
	p.polled()
	p.shown()
	first := p.serve("--roles", "download")
	if n := <-asked; n != 1 {
		t.Errorf("request %d", n)
	}
	first.kill()
	ends := func(n int) { // the sweeper ends the attempt, not before its time
		t.Helper()
		waitFor(t, "the sweeper", func() bool {
			p.shown()
			p.says(0, []string{"sweep"})
			return strings.HasPrefix(p.lived("a.txt")[n], "DOWNLOADING_FAILED")
		})
	}
	waitFor(t, "the attempt to be overdue", func() bool {
		p.shown()
		p.says(0, []string{"sweep"})
		return len(p.lived("a.txt")) > 2
	})
	ends(2)
	second := p.serveAt("ACCESSION_CRASH=download/attempt/end/before", "--roles", "download")
	_ = second.cmd.Wait()
	waitFor(t, "the attempt to be overdue", func() bool {
		p.shown()
		p.says(0, []string{"sweep"})
		return len(p.lived("a.txt")) > 4
	})
	ends(4)
	before := n
	p.serveInProcess(run.RoleDownload)
	p.reaches("a.txt", domain.FileDownloaded)
	p.went("a.txt", "DISCOVERED", "DOWNLOADING", "DOWNLOADING_FAILED:download_timeout", "DOWNLOADING", "DOWNLOADING_FAILED:download_timeout", "DOWNLOADING", "DOWNLOADED")
	if n != before {
		t.Errorf("it was fetched %d times, though it was there", n-before)
	}
	if got := p.content("a.txt"); got != "some text" {
		t.Errorf("%q", got)
	}
}

// TestSpaceOfADownload: while a file of an open directory is fetched, its size is promised in
// ZooKeeper, and verify finds nothing wrong about that; then it is not.
// Shows: P8
func TestSpaceOfADownload(t *testing.T) {
	t.Parallel()
	dir := newOpenDirectory(t, "a.txt 20-Nov-2026 09:05 9")
	asked, goOn := make(chan struct{}), make(chan struct{})
	dir.answer(func(w http.ResponseWriter, _ *http.Request) {
		close(asked)
		<-goOn
		_, _ = io.WriteString(w, "some text")
	})
	p := newPolled(t, newInstallation(t), dir)
	p.polled()
	p.shown()
	p.serveInProcess(run.RoleDownload)
	<-asked
	live, err := p.wired.LiveState(p.ctx())
	p.must(err)
	promised := func() []eventstore.FilePromise {
		all, err := live.FilePromises(p.ctx())
		p.must(err)
		return all
	}
	if all := promised(); len(all) != 1 || all[0].File != dir.hash("a.txt") || all[0].Bytes != 9 || all[0].Profile != "test" {
		t.Errorf("promised is %+v", all)
	}
	p.shown()
	p.says(0, words("verify"))
	close(goOn)
	p.reaches("a.txt", domain.FileDownloaded)
	waitFor(t, "the promise to end", func() bool { return len(promised()) == 0 })
}

// TestPollsThatAreKilled: a poll whose process is killed at any of its points is ended by the
// next one, and nothing is known twice.
// Shows: P1 P5
func TestPollsThatAreKilled(t *testing.T) {
	t.Parallel()
	program, err := crashing()
	if err != nil {
		t.Fatal(err)
	}
	dir := newOpenDirectory(t, "a.txt 20-Nov-2026 09:05 9")
	in := newForProcesses(t, "attempts: 3, timeout: 1s")
	in.program = program
	p := newPolled(t, in, dir)
	names := []string{"a.txt"}
	for i, point := range []string{"poll/begin/after", "listing/keep/before", "listing/keep/after", "listing/gone/before", "poll/complete/before", "poll/complete/after"} {
		name := fmt.Sprintf("f%d.txt", i)
		names = append(names, name)
		dir.set(func() { dir.files = append(dir.files, name+" 20-Nov-2026 09:05 9") })
		if i > 0 {
			p.says(0, []string{"discover", "run", "nights"})
		}
		s := p.serveAt("ACCESSION_CRASH=record/"+point, "--roles", "discover")
		_ = s.cmd.Wait()
		if log := s.log.tail(2000); !strings.Contains(log, "ready") {
			t.Errorf("%s: %s", point, log)
		}
		p.must(p.poller.Once(p.ctx()))
	}
	p.shown()
	if known, events := p.count("select count(*) from accession.file"), p.count("select count(*) from accession.event where type = 'file.discovered'"); known != len(names) || events != len(names) {
		t.Errorf("%d files are known by %d events, want %d", known, events, len(names))
	}
	last := p.asked()
	if last.Outcome != "complete" || last.Listed != int64(len(names)) || last.New != 0 || last.Vanished != 0 || last.Altered != 0 {
		t.Errorf("%+v", last)
	}
}
