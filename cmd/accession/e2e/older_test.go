package e2e

import (
	"context"
	"errors"
	"log/slog"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/run"
	"github.com/accession-ingest/accession/cmd/internal/stack"
	"github.com/accession-ingest/accession/deploy/samples"
	"github.com/accession-ingest/accession/domain"
)

// museum is an installation with servers of its own, which may be put back to older
// copies of their data, and a list of what it has accepted.
type museum struct {
	*installation
	servers  *stack.Stack
	base     string
	accepted []domain.BatchID
}

func newMuseum(t *testing.T) *museum {
	t.Helper()
	servers, err := stack.Start(t.Context(), stack.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := errors.Join(servers.Stop(ctx), stack.Remove(ctx, servers.Dir())); err != nil {
			t.Error(err)
		}
	})
	at := servers.Addresses()
	m := &museum{servers: servers, base: webServer(t, samples.Handler())}
	m.installation = newInstallation(t, "zookeeper="+at.ZooKeeper, "nats="+at.NATS, "postgres="+at.Postgres, "zookeeper_session_timeout=2s")
	m.begun = 0
	m.db, err = pgxpool.New(t.Context(), at.Postgres)
	m.must(err)
	t.Cleanup(m.db.Close)
	m.says(0, words("migrate"))
	return m
}

// anew is the same with a process that begins now.
func (m *museum) anew() {
	m.t.Helper()
	m.must(m.wired.Close())
	m.installation = m.with()
}

// accepts takes deposits in, and waits until everything about them has ended.
func (m *museum) accepts(n int) {
	m.t.Helper()
	s := m.serveInProcess()
	for range n {
		m.accepted = append(m.accepted, m.submit(app.Deposit{Payload: m.base + samples.SingleFile}))
	}
	m.whole()
	s.stop()
}

// whole checks the list: each batch is completed, with its object.
func (m *museum) whole() {
	m.t.Helper()
	for _, id := range m.accepted {
		if v := m.rest(id); v.JobsCompleted != 1 {
			m.t.Errorf("%s: %+v", id, v.BatchSummary)
		}
	}
	m.seen(len(m.accepted), domain.EventJobCleaned)
	m.shown()
}

// keep copies the data of servers; the function puts the copies back.
func (m *museum) keep(names ...stack.Server) (putBack func()) {
	m.t.Helper()
	to := m.t.TempDir()
	each := func(do func(name stack.Server, data, copied string) error) {
		m.t.Helper()
		for _, name := range names {
			m.must(m.servers.Kill(name))
			m.must(do(name, m.servers.DataDir(name), filepath.Join(to, string(name))))
		}
		for _, name := range names {
			m.must(m.servers.StartServer(m.t.Context(), name))
		}
	}
	copyTo := func(from, to string) error {
		return exec.CommandContext(m.t.Context(), "cp", "-a", from, to).Run()
	}
	each(func(_ stack.Server, data, copied string) error { return copyTo(data, copied) })
	return func() {
		m.t.Helper()
		each(func(_ stack.Server, data, copied string) error {
			return errors.Join(exec.CommandContext(m.t.Context(), "rm", "-rf", data).Run(), copyTo(copied, data))
		})
		m.anew()
	}
}

// refuses checks that nothing is taken, and what is said.
func (m *museum) refuses(texts ...string) {
	m.t.Helper()
	last := m.end()
	m.says(8, []string{"submit", "--profile", "test", m.base + samples.SingleFile}, texts...)
	m.says(8, words("queue pause pending --reason x"), texts...)
	m.anew()
	s := &run.Service{Config: m.cfg, Roles: run.AllRoles, Version: "test", Log: slog.New(slog.DiscardHandler)}
	var known *app.Error
	if err := s.Run(m.ctx()); !errors.As(err, &known) || known.Kind != app.Lost || !strings.Contains(err.Error()+known.Hint, texts[0]) {
		m.t.Errorf("the service ends with %v", err)
	}
	m.anew()
	if now := m.end(); now != last {
		m.t.Errorf("the log ended at %d and ends at %d", last, now)
	}
}

// end returns the last sequence of the log.
func (m *museum) end() uint64 {
	m.t.Helper()
	log, err := m.wired.Log(m.ctx())
	m.must(err)
	info, err := log.Info(m.ctx())
	m.must(err)
	return info.Last
}

// A server that is put back to an older copy of its data is noticed before anything is
// written, and the remedy that the message names brings back all that was accepted.
// Shows: P12 P1
func TestOlderCopiesAreRefused(t *testing.T) {
	t.Parallel()
	m := newMuseum(t)
	m.accepts(2)
	for name, back := range map[string]struct {
		servers []stack.Server
		says    []string
		remedy  []string
		after   int // its exit code; 21 = the tables are behind
	}{
		"zookeeper": {[]stack.Server{stack.ZooKeeper}, []string{"accession restore zookeeper", "is an older copy"}, words("restore zookeeper"), 0},
		"nats":      {[]stack.Server{stack.NATS}, []string{"accession restore log"}, words("restore log"), 0},
		"postgres":  {[]stack.Server{stack.PostgreSQL}, []string{"accession verify --repair --yes", "schema record in PostgreSQL is an older copy"}, words("verify --repair --yes --wait 1s"), 21},
	} {
		t.Log(name)
		putBack := m.keep(back.servers...)
		m.anew()
		m.accepts(2)
		putBack()
		m.refuses(back.says...)
		m.says(21, words("verify --wait 1s"))
		m.says(back.after, back.remedy)
		m.anew()
		m.accepts(1)
		m.agree()
	}
}
