package e2e

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/consistency"
	"github.com/accession-ingest/accession/deploy/samples"
	"github.com/accession-ingest/accession/domain"
)

// Whatever is changed in the tables behind the projector's back is seen, and
// nothing else is.
// Shows: P21
func TestVerifySeesDamagedTables(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	base := webServer(t, samples.Handler())
	stop := in.serveInProcess().stop
	id := in.submit(app.Deposit{Payload: base + samples.SingleFile})
	job := in.rest(id).Jobs[0].ID
	in.says(0, words("queue pause notify --reason x"))
	in.agree()
	stop()
	db, err := in.wired.DB(in.ctx())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, breaks, mends, about string
		want                       domain.Code
	}{
		{"a job's status", "update accession.job set status = 'failed'", "update accession.job set status = 'completed'", "job/" + job, consistency.RowWrong},
		{"an old row", "update accession.job set version = version - 1", "update accession.job set version = version + 1", "job/" + job, consistency.RowBehind},
		{"a row from the future", "update accession.job set version = version + 1", "update accession.job set version = version - 1", "job/" + job, consistency.RowWrong},
		{"a batch that is gone", "update accession.batch set version = 0", "update accession.batch set version = " +
			"(select max(version) from accession.event where kind = 'batch')", "batch/" + string(id), consistency.RowMissing},
		{"a setting that is gone", "update accession.setting set name = 'x'", "update accession.setting set name = 'notify'", "setting/queue:notify", consistency.RowMissing},
		{"a setting's hold", "update accession.setting set held_by = 'x'", "update accession.setting set held_by = changed_by", "setting/queue:notify", consistency.RowWrong},
		{"a counter", "update accession.batch set jobs_completed = 0, jobs_processing = 1", "update accession.batch set jobs_completed = 1, jobs_processing = 0", string(id), consistency.SumWrong},
		{"a sum", "update accession.batch set rows_listed = 2", "update accession.batch set rows_listed = 1", "batch/" + string(id), consistency.RowWrong},
		{"a file's status", "update accession.file set worker = 'x'", "update accession.file set worker = ''", "", consistency.RowWrong},
		{"a file's counter", "update accession.file_count set files_skipped = 1, files_listed = files_listed + 1",
			"update accession.file_count set files_skipped = 0, files_listed = files_listed - 1", job, consistency.SumWrong},
		{"a grab", "update accession.deposit set turn = turn + 9", "update accession.deposit set turn = turn - 9", string(id) + "/2", consistency.SumWrong},
		{"a deposit's end", "update accession.deposit set ended_at = null, parked_at = ended_at", "update accession.deposit set ended_at = parked_at, parked_at = null", string(id) + "/1", consistency.SumWrong},
		{"a job too many", "insert into accession.job select (jsonb_populate_record(j, '{\"id\": \"jid9999999999\"}')).* from accession.job j where id = '" + job + "'",
			"delete from accession.job where id = 'jid9999999999'", "job/jid9999999999", consistency.RowExtra},
		{"an event that is gone", "update accession.event set seq = seq + 1000000 where seq = 3", "update accession.event set seq = 3 where seq > 1000000", "", consistency.EventRowWrong},
		{"an event of another command", "update accession.event set command_id = command_id || 'x' where seq = 3", "update accession.event set command_id = rtrim(command_id, 'x') where seq = 3", "", consistency.EventRowWrong},
		{"an event's data", `update accession.event set data = jsonb_set(data, '{retry_count}', '7') where kind = 'job' and version = 2`,
			`update accession.event set data = jsonb_set(data, '{retry_count}', '0') where kind = 'job' and version = 2`, "", consistency.EventRowWrong},
		{"a change of a job without its row", "update accession.job_transition set version = 100 where version = 2", "update accession.job_transition set version = 2 where version = 100", job + "/2", consistency.SumWrong},
		{"a poisoned event", "insert into accession.poison_event select 'main', 1, 'x', 'x', 'job', '" + job + "', 1, 'x', null, true, 'no', '', 1, now(), now()", "delete from accession.poison_event", "job/" + job, consistency.EventPoisoned},
		{"a table of the records", "alter table record.host_pause rename to lost", "alter table record.lost rename to host_pause", "", consistency.RecordsAltered},
		{"another stream", "update accession.checkpoint set stream_created = stream_created + interval '1 s'", "update accession.checkpoint set stream_created = stream_created - interval '1 s'", "", consistency.StreamChanged},
		{"a lost tail", "update accession.checkpoint set seq = seq + 1", "update accession.checkpoint set seq = seq - 1", "", consistency.StreamChanged},
		{"tables that do not catch up", "update accession.checkpoint set seq = seq - 1", "update accession.checkpoint set seq = seq + 1", "", consistency.ProjectionBehind},
	} {
		if _, err := db.Exec(in.ctx(), c.breaks); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		r := in.verified()
		seen := false
		for _, f := range r.Findings {
			seen = seen || f.Code == c.want && (f.Subject == c.about || c.about == "")
		}
		if !seen || r.Worst != app.NeedsPerson {
			t.Errorf("%s: want %s about %q, got\n%s", c.name, c.want, c.about, findings(r.Findings))
		}
		if _, err := db.Exec(in.ctx(), c.mends); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
	}
	if r := in.verified(); len(r.Findings) > 0 {
		t.Errorf("all is mended, yet:\n%s", findings(r.Findings))
	}
	// No relay publishes what is done now: it waits in the outbox until it is lost there.
	z := in.raw()
	z.put("/space/x", "", 0)
	in.says(0, words("verify --repair --yes --wait 100ms"), "repaired")
	ahead := in.submit(app.Deposit{Payload: base + samples.SingleFile})
	if r := in.verified(); len(r.Findings) > 0 {
		t.Errorf("events wait in the outbox, and\n%s", findings(r.Findings))
	}
	for node := range in.nodesFrom("/outbox") {
		if strings.Contains(node, "/e-") {
			z.cut(node)
		}
	}
	var unknown []string
	for _, f := range in.verified().Findings {
		unknown = append(unknown, string(f.Code)+" "+f.Subject)
	}
	if want := []string{"unknown_there batch/" + string(ahead), "unknown_there setting/audit:maintenance"}; !slices.Equal(unknown, want) {
		t.Errorf("a batch and a setting that only ZooKeeper knows: %v", unknown)
	}
	in.says(21, words("verify --wait 100ms"), "unknown_there", "batch/"+string(ahead), "accession restore log")
	away := *in
	away.settings = maps.Clone(in.settings)
	away.settings["nats"] = "nats://127.0.0.1:1"
	away.says(22, words("verify"), "nats")
}

// verified checks with little patience.
func (in *installation) verified() app.Verified {
	in.t.Helper()
	v, err := in.app.Verify(in.ctx(), app.VerifyOptions{Wait: 100e6})
	if err != nil {
		in.t.Fatal(err)
	}
	return v
}

func findings(all []app.Finding) (text string) {
	for _, f := range all {
		text += f.String() + "\n"
	}
	return text
}
