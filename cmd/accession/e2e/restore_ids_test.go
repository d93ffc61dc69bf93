package e2e

import (
	"testing"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// A restored tree assigns no id of which anything is known, also when the job's own
// events were lost with the outbox: not that of a file's job, nor one that the record
// has something under.
// Shows: C10
func TestRestoreAboveEveryID(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	const batch, ofFile, ofRecord, gap = 300, 4000, 50_000, 10_000
	files, err := in.wired.FileHandler(in.ctx())
	if err != nil {
		t.Fatal(err)
	}
	job := domain.NewJobID(ofFile)
	spec := domain.FileSpec{Source: string(job), Path: "a.txt", BatchID: domain.NewBatchID(batch), JobID: job, Size: 10}
	if _, err := files.DiscoverAll(in.ctx(), []domain.DiscoverFile{{Spec: spec}}, eventstore.Meta{Actor: "system/test"}); err != nil {
		t.Fatal(err)
	}
	above := func(name string, bid, jid int, set ...string) *installation {
		t.Helper()
		fresh := in.with(append(set, "zookeeper_root="+in.cfg.ZooKeeperRoot+"/"+name)...)
		fresh.says(0, words("restore zookeeper"), "epoch 2 begins")
		if _, next, _ := fresh.dump(); next[0] <= bid+gap || next[1] <= jid+gap {
			t.Errorf("%s: the next ids are %v, want them above %d and %d", name, next, bid+gap, jid+gap)
		}
		return fresh
	}
	above("files", batch, ofFile)

	pool, err := in.wired.Pool(in.ctx())
	if err != nil {
		t.Fatal(err)
	}
	for i, sql := range []string{
		`insert into record.identifier (job_id, name, state) values ($1, 'ark:/99999/fk4x', 'intent')`,
		`insert into record.version_reservation (job_id, primary_identifier, version) values ($1, 'ark:/99999/fk4x', 1)`,
		`insert into record.local_id (owner, local_id, primary_identifier, job_id) values ('test', 'x', 'ark:/99999/fk4x', $1)`,
		`insert into record.identifier_collection (primary_identifier, collection, job_id) values ('ark:/99999/fk4x', 'test', $1)`,
		`insert into record.effect (key, kind, state) values ($1 || '/2/store', 'store', 'intent')`,
		`insert into record.delivery (key, channel, about, batch_id, job_id, recipients, state, attempts, last_error)
			values ('x', 'callback', 'job', 'bid0000000700', $1, '{}', 'pending', 1, '')`,
	} {
		if _, err := pool.Exec(in.ctx(), sql, domain.NewJobID(ofRecord*int64(i+1))); err != nil {
			t.Fatal(err)
		}
		above(string("abcdef"[i]), batch, ofRecord*(i+1))
	}
	above("batches", 700, ofRecord*6)
	away := in.with("postgres=postgres://nobody@127.0.0.1:1/none", "zookeeper_root="+in.cfg.ZooKeeperRoot+"/away")
	away.says(0, words("restore zookeeper"), "ids were taken from the log only")
	if _, next, _ := away.dump(); next[1] <= ofFile+gap || next[1] > ofRecord {
		t.Errorf("without PostgreSQL the next ids are %v", next)
	}
}
