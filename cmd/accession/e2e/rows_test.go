package e2e

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/config"
	"github.com/accession-ingest/accession/cmd/internal/daemon"
	"github.com/accession-ingest/accession/cmd/internal/run"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// TestEveryRow takes every row of the tables of batches, jobs and files on real
// servers, through the service's daemons and the operators' commands, and checks
// after each what it left: the whole tree in ZooKeeper, the events in the log, the
// rows in PostgreSQL. Slots and prerequisites are guards of F9 and F10 that nothing
// asks for yet; domain tests them.
// Shows: P2 P3 P4
func TestEveryRow(t *testing.T) {
	t.Parallel()
	rows := map[string]bool{}
	for _, r := range domain.BatchTransitions {
		rows[r.Row] = true
	}
	for _, r := range domain.JobTransitions {
		rows[r.Row] = true
	}
	for _, r := range domain.FileTransitions {
		rows[r.Row] = true
	}
	sameNames(t, "described", rows, rowsOfEffects())
	var mu sync.Mutex
	taken := map[string]bool{}
	t.Run("scenes", func(t *testing.T) {
		for name, play := range map[string]func(*scene){
			"an object comes to its end":       walks,
			"a job fails in each of its steps": failsEverywhere,
			"batches and jobs are deleted":     ends,
			"files are damaged and left out":   damages,
			"jobs go with their batch":         leaves,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s := &scene{installation: newInstallation(t).beforeRings(), model: newModel(), takes: func(row string) {
					mu.Lock()
					defer mu.Unlock()
					taken[row] = true
				}}
				play(s)
				s.agree()
			})
		}
	})
	if !t.Failed() {
		sameNames(t, "taken", rows, taken)
	}
}

// sameNames fails the test unless all that the rules have, and nothing else, was
// dealt with.
func sameNames(t *testing.T, what string, rules, got map[string]bool) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(rules)) {
		if !got[name] {
			t.Errorf("%s is not %s", name, what)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if !rules[name] {
			t.Errorf("%s is %s, and the rules do not have it", name, what)
		}
	}
}

// scene is an installation in which nothing moves by itself: one daemon is started after
// the other, so that the state after each row rests and can be looked at.
type scene struct {
	*installation
	model
	takes func(name string) // called with each row, or state, that was dealt with
	seen  uint64            // place in the log of the last event that was looked at
	moved []moved           // rows whose tables are to be checked
}

// move is what is to become of one aggregate in a step: rows, in order.
type move struct {
	of    domain.Aggregate
	steps []step
}

type moved struct {
	step
	event domain.Recorded
	want  rowEvent
}

func (s *scene) batch(id domain.BatchID, rows string) move { return move{id.Aggregate(), steps(rows)} }
func (s *scene) job(id domain.JobID, rows string) move     { return move{id.Aggregate(), steps(rows)} }

// path returns the moves of a file of a job.
func (s *scene) path(job domain.JobID, name, rows string) move {
	return move{domain.HashFile(string(job), name).Aggregate(), steps(rows)}
}

func (s *scene) file(hash domain.FileHash) *fileModel {
	if s.files[hash] == nil {
		s.files[hash] = &fileModel{}
	}
	return s.files[hash]
}

// stepTime is how long a step may take before the test gives up on it.
const stepTime = 30 * time.Second

// only starts a service in which nothing but one daemon works.
func (s *scene) only(name string, set ...string) (stop func()) {
	s.t.Helper()
	flags := maps.Clone(s.settings)
	workers := name + "=1"
	for _, d := range daemon.Daemons {
		if d.Name != name {
			workers += "," + d.Name + "=0"
		}
	}
	flags["workers"] = workers
	for i := 0; i < len(set); i += 2 {
		flags[set[i]] = set[i+1]
	}
	cfg, err := config.Load(config.Sources{Flags: flags})
	if err != nil {
		s.t.Fatal(err)
	}
	in := *s.installation
	in.cfg = cfg
	return in.serveInProcess(run.RoleDaemons).stop
}

// daemon lets one daemon work until it has made these moves, and looks at what is
// there while it still runs: a lock that was left would be seen.
func (s *scene) daemon(name string, moves ...move) {
	s.t.Helper()
	stop := s.only(name)
	s.came("daemon/"+name, moves...)
	stop()
}

// stays is daemon for work that moves files only: the job stays where it is and is
// not tried again in this step.
func (s *scene) stays(name string, moves ...move) {
	s.t.Helper()
	stop := s.only(name, "retry_delay", "1m")
	s.logged("daemon/"+name, moves)
	stop()
	s.left(moves)
}

// operator makes an operator's command, whose answer must name the row of the first
// move.
func (s *scene) operator(do func(context.Context) (app.Changed, error), moves ...move) app.Changed {
	s.t.Helper()
	c, err := do(s.ctx())
	if want := moves[0]; err != nil || c.Row != want.steps[0].row || c.Subject != want.of.String() {
		s.t.Fatalf("%s: %+v, %v", want.steps[0].row, c, err)
	}
	s.came("user/test", moves...)
	return c
}

// came checks log, tree and tables.
func (s *scene) came(actor string, moves ...move) {
	s.t.Helper()
	s.logged(actor, moves)
	s.left(moves)
}

func (s *scene) left(moves []move) {
	s.t.Helper()
	var rows []string
	for _, m := range moves {
		for _, st := range m.steps {
			rows = append(rows, st.row)
		}
	}
	s.look(strings.Join(rows, " "))
	s.shown()
	s.tables()
	if s.t.Failed() {
		s.t.FailNow() // what follows would fail for the same reason
	}
}

// logged waits until the log has as many new events as the moves have rows, and
// checks them.
func (s *scene) logged(actor string, moves []move) {
	s.t.Helper()
	log, err := s.wired.Log(s.ctx())
	if err != nil {
		s.t.Fatal(err)
	}
	want := 0
	for _, m := range moves {
		want += len(m.steps)
	}
	ctx, cancel := context.WithTimeout(s.t.Context(), stepTime)
	defer cancel()
	var got []domain.Recorded
	for r, err := range log.Read(ctx, eventstore.ReadOptions{From: s.seen + 1, Follow: true}) {
		if err != nil {
			for _, r := range got {
				s.t.Logf("%s %s", r.ID(), r.Type)
			}
			s.t.Fatalf("%d of %d events of %+v came: %v", len(got), want, moves, err)
		}
		s.seen = r.Seq
		if r.Aggregate.Kind != domain.KindSetting {
			got = append(got, r)
		}
		if len(got) == want {
			break
		}
	}
	s.events(actor, got, moves)
	for _, m := range moves {
		for _, st := range m.steps {
			if st.row != "listed" && !stays(st.row) {
				s.takes(st.row)
			}
		}
	}
}

// hold sets the hold of the collection.
func (s *scene) hold() {
	s.t.Helper()
	if _, err := s.app.HoldCollection(s.ctx(), "test", "new terms"); err != nil {
		s.t.Fatal(err)
	}
}

// open releases it.
func (s *scene) open() {
	s.t.Helper()
	if _, err := s.app.ReleaseCollection(s.ctx(), "test", "signed"); err != nil {
		s.t.Fatal(err)
	}
}

// deposit takes B1.
func (s *scene) deposit(d app.Deposit, fileName string) domain.BatchID {
	s.t.Helper()
	id := s.submit(d)
	s.batches[id] = &batchModel{counts: map[string]int{}, submission: jsonText(map[string]any{
		"profile_name": "test", "submitter": "tester", "payload_url": d.Payload, "type": d.Type, "submission_mode": "add", "user": "test",
		"erc_what": d.Title, "erc_who": "", "erc_when": "", "erc_where": "", "file_name": fileName})}
	s.came("user/test", s.batch(id, "B1"))
	return id
}

// expects says that the batch will be listed with so many rows, the first of which
// becomes the job first.
func (s *scene) expects(id domain.BatchID, first domain.JobID, rows ...map[string]any) (jobs []domain.JobID) {
	s.t.Helper()
	s.batches[id].rows, s.batches[id].first = len(rows), string(first)
	for i, row := range rows {
		job := first.Plus(i)
		c := map[string]any{"batch_id": id, "profile_name": "test", "submitter": "tester", "response_type": "json", "submission_mode": "add",
			"payload_type": "file", "row": i, "working_dir": s.cfg.WorkDir + "/" + string(id) + "/" + string(job)}
		maps.Copy(c, row)
		if _, rest, found := strings.Cut(c["payload_url"].(string), "://"); found {
			c["host"], _, _ = strings.Cut(rest, "/")
		}
		title, _ := c["title"].(string)
		delete(c, "title")
		s.jobs[job] = &jobModel{batch: id, configuration: jsonText(c), identifiers: `{"local_id":[],"primary":""}`,
			metadata: jsonText(map[string]any{"erc_what": title, "erc_who": "", "erc_when": "", "erc_where": ""})}
		jobs = append(jobs, job)
	}
	return jobs
}

func jsonText(v map[string]any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // plain data
	}
	return string(b)
}
