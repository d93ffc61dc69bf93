//go:build !race

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	names "github.com/accession-ingest/accession/cmd/internal/mint/service"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/internal/repocheck"
	"github.com/accession-ingest/accession/internal/testkit/minter"
)

// namingPoints are the points by which a job comes between the moment at which its identifier is
// reserved and that at which it is written to the job, as operations: those of the daemon, of what it
// asks the service, and of what is kept of it. within is the operation in which a point counts that
// other work comes by too.
var namingPoints = []struct{ operation, within string }{
	{"daemon/processing/reserve-identifier", ""}, {"record/identifier/reserve", ""}, {"daemon/processing/use-identifier", ""},
	{"record/identifier/use", ""}, {"daemon/processing/register", ""}, {"mint/service/ask", ""}, {"record/identifier/confirm", ""},
	{"daemon/processing/bind-local-id", ""}, {"record/transaction/run", "daemon/processing/bind-local-id"},
	{"daemon/processing/identify", ""}, {"zklive/deliver/multi", "daemon/processing/identify"},
}

// TestMintersKilledAtEachStep: between the daemon and a service that makes identifiers known
// stands the fault proxy. At each crash point of naming a process is killed, once with a whole
// connection, and once after the service has made the name and the proxy has lost its answer. Each
// job has one identifier at the service, and is stored under it.
// Shows: P1 P5
func TestMintersKilledAtEachStep(t *testing.T) {
	t.Parallel()
	points, err := repocheck.Points(os.DirFS("../../.."))
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, p := range namingPoints {
		listed[p.operation+"/before"], listed[p.operation+"/after"] = true, true
	}
	for _, p := range points {
		naming := strings.HasPrefix(p.File, "cmd/internal/daemon/naming/") || strings.HasPrefix(p.File, "cmd/internal/mint/") || strings.HasPrefix(p.Name, "record/identifier/")
		if naming && !listed[p.Name] {
			t.Errorf("no process is killed at %s", p.Name)
		}
		delete(listed, p.Name)
	}
	if len(listed) > 0 {
		t.Errorf("there are no points %v", listed)
	}
	for _, dataCite := range []bool{false, true} {
		for _, lost := range []int{0, 1} {
			for _, side := range []string{"before", "after"} {
				t.Run(fmt.Sprintf("%s_%s_%s", map[bool]string{false: names.EZID, true: names.DataCite}[dataCite], []string{"whole", "lost"}[lost], side), func(t *testing.T) {
					t.Parallel()
					m := newNamer(t, dataCite)
					for _, p := range namingPoints {
						m.diesAt(path.Join(p.operation, side), p.within, lost)
					}
					if side == "before" {
						m.diesAt("record/transaction/before-commit", "daemon/processing/bind-local-id", lost)
					}
					m.whole(lost)
				})
			}
		}
	}
}

// namer is an installation whose one profile has its identifiers made known by a service behind
// the fault proxy.
type namer struct {
	*crashInstallation
	dataCite bool
	server   *minter.Server
	proxy    *cable
	deaths   map[domain.BatchID]string // the point at which the process was killed that had it first
}

const itsAccount = "--set=minter_credentials=test:apitest:s3cret"

func newNamer(t *testing.T, dataCite bool) *namer {
	shoulder := "ark:/99999/"
	if dataCite {
		shoulder = "10.5072/"
	}
	m := &namer{dataCite: dataCite, deaths: map[domain.BatchID]string{}}
	m.server = minter.New(t, minter.Options{DataCite: dataCite, Shoulder: shoulder, User: "apitest", Password: "s3cret"})
	m.proxy = newCable(t, strings.TrimPrefix(m.server.URL(), "http://"))
	m.crashInstallation = newCrashInstallation(t, func(o *crashInstallation) {
		o.editProfile(local, strings.Replace(identifiers(m.server, dataCite), m.server.URL(), "http://"+m.proxy.address(), 1))
	})
	return m
}

// ended waits until all deposits so far are stored and reported.
func (m *namer) ended() {
	m.t.Helper()
	waitFor(m.t, "the deposits to be stored", func() bool {
		return m.count("select count(*) from accession.batch where status = 'completed'") == len(m.batches)
	})
}

// diesAt deposits an object when those before it are stored, and kills the process that names it
// when it comes by the point within an operation, but not before so many answers of the service were
// lost to it.
func (m *namer) diesAt(point, within string, lost int) {
	m.t.Helper()
	name := filepath.Join(m.dir, strings.ReplaceAll(point, "/", "-"))
	passed := name + ".passed"
	log, err := os.Create(name + ".log")
	m.must(err)
	defer log.Close()
	cmd := m.command("serve", itsAccount)
	cmd.Stdout, cmd.Stderr, cmd.Env = log, log, append(cmd.Env, "ACCESSION_STOP="+point+":1+", "ACCESSION_PASSED="+passed)
	m.must(cmd.Start())
	var deposited atomic.Bool
	killed, ended := make(chan bool, 1), make(chan struct{})
	m.t.Cleanup(func() { _ = cmd.Process.Kill(); <-ended })
	go func() {
		defer close(ended)
		struck := false
		for {
			var ws syscall.WaitStatus
			_, err := syscall.Wait4(cmd.Process.Pid, &ws, syscall.WUNTRACED, nil)
			switch {
			case err == syscall.EINTR: //nolint:errorlint // the system's own
			case err != nil || !ws.Stopped():
				killed <- struck && ws.Signal() == syscall.SIGKILL
				return
			case deposited.Load() && m.proxy.toLose() == 0 && isWithin(passed, within):
				struck = true
				_ = syscall.Kill(cmd.Process.Pid, syscall.SIGKILL)
			default:
				_ = syscall.Kill(cmd.Process.Pid, syscall.SIGCONT)
			}
		}
	}()
	m.ended()
	m.proxy.losesAnswers(lost)
	deposited.Store(true)
	m.n++
	s, err := m.app.Submit(m.ctx(), app.Deposit{Profile: "test", Submitter: "tester", Payload: m.base + "/file?n=" + m.number(), Type: domain.TypeFile, LocalIDs: []string{"local-" + m.number()}})
	m.must(err)
	m.batches = append(m.batches, s.Batch)
	m.deaths[s.Batch] = point
	select {
	case ok := <-killed:
		if !ok {
			m.t.Errorf("a process ended by itself on its way to %s", point)
		}
	case <-time.After(reaching):
		m.t.Errorf("a process did not come to %s", point)
		_ = syscall.Kill(cmd.Process.Pid, syscall.SIGKILL)
		<-killed
	}
	if m.t.Failed() {
		text, _ := os.ReadFile(log.Name())
		m.t.Logf("log of the process that was to die at %s:\n%s", point, text[max(0, len(text)-4000):])
	}
}

// isWithin reports whether the file of the points that a process has passed ends within an
// operation; "" = any.
func isWithin(file, operation string) bool {
	if operation == "" {
		return true
	}
	text, _ := os.ReadFile(file)
	return strings.Count(string(text), operation+"/before\n") > strings.Count(string(text), operation+"/after\n")
}

// markerOf returns for whom DataCite's record of a DOI says that it was made.
func markerOf(t testing.TB, r minter.Record) string {
	t.Helper()
	var all []struct{ AlternateIdentifier, AlternateIdentifierType string }
	if err := json.Unmarshal([]byte(r["alternateIdentifiers"]), &all); err != nil || len(all) != 1 || all[0].AlternateIdentifierType != names.Marker {
		t.Fatalf("%v, %v", r, err)
	}
	return all[0].AlternateIdentifier
}

// whole checks that the service has made one identifier for each job, that of its object.
func (m *namer) whole(lost int) {
	m.t.Helper()
	last := m.serve(itsAccount)
	last.works()
	m.ended()
	last.stop()
	records, made := m.server.Records()
	has := map[string][]string{} // by INSTALLATION/JOB
	for name, record := range records {
		madeFor := record[names.Marker]
		if m.dataCite {
			name, madeFor = "doi:"+name, markerOf(m.t, record)
		}
		has[madeFor] = append(has[madeFor], name)
	}
	if made != len(m.batches) || len(has) != len(m.batches) {
		m.t.Errorf("%d identifiers were made for %d of %d jobs: %v", made, len(has), len(m.batches), has)
	}
	for batch, point := range m.deaths {
		job, primary := m.jobOf(batch), ""
		m.must(m.db.QueryRow(m.ctx(), "select primary_identifier from accession.job where id = $1", job).Scan(&primary))
		if got := has[m.cfg.Instance+"/"+job]; len(got) != 1 || got[0] != primary {
			m.t.Errorf("%s: %v were made, and the object is %s", point, got, primary)
		}
	}
	if asked := len(m.server.Requests()); asked < made*(1+lost) {
		m.t.Errorf("%d requests for %d names, whose answers were lost %d times", asked, made, lost)
	}
	m.sound()
}
