package e2e

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/accession-ingest/accession/cmd/internal/app/directories"
	"github.com/accession-ingest/accession/cmd/internal/run"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections/query"
)

// TestGroupsBecomeDeposits: a group becomes one batch when its marker is listed and all its files
// are there, and its files are processed with it; a file that comes later is late; the end of a
// slot has a group deposited without a file that was given up. The report of reconciliation
// names both, and nothing is deposited twice.
// Shows: P1
func TestGroupsBecomeDeposits(t *testing.T) {
	t.Parallel()
	file := func(name string) string { return name + " 20-Nov-2026 09:05 32" }
	dir := newOpenDirectory(t, file("20261120_a.dat"), file("20261120_b.dat"), file("20261121_d.dat"), file("20261121_e.dat"))
	content := dir.serve
	dir.serve = func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "20261121_d.dat") {
			http.NotFound(w, r)
			return
		}
		content(w, r)
	}
	in := newInstallation(t, "ready_interval=100ms", "file_retry_delay=1ms")
	p := newPolled(t, in, dir, "--group-by", "^([0-9]+)_", "--deposit", "test", "--submitter", "ana", "--complete-marker", "*.done")
	depositor, err := in.wired.Groups(in.ctx())
	in.must(err)
	in.serveInProcess(run.RoleDownload, run.RoleReady)
	once := func() {
		t.Helper()
		in.shown()
		in.must(depositor.Once(in.ctx()))
		in.shown()
	}
	once()
	p.polled()
	for _, name := range []string{"20261120_a.dat", "20261120_b.dat", "20261121_e.dat"} {
		p.reaches(name, domain.FileReady)
	}
	p.reaches("20261121_d.dat", domain.FileIgnore)
	once()
	in.says(0, words("discover show nights"), "each group becomes a deposit of one object under the profile test by ana when a file *.done is listed, or its slot is DONE",
		"groups: 0 deposited, 2 waiting", "20261120 waits: no file *.done is listed", "20261121 waits: 20261121_d.dat is IGNORE")

	dir.set(func() { dir.files = append(dir.files, "20261120_x.done 20-Nov-2026 09:06 33") })
	p.asked()
	p.reaches("20261120_x.done", domain.FileReady)
	once()
	once()
	if n := p.count("select count(*) from report.group_deposit where group_name = '20261120' and status = 'deposited' and cause = 'marker' and deposited = 2 and missing = 0 and late = 0 and ended_at is not null"); n != 1 {
		t.Error("the group with its marker is not deposited")
	}
	for _, name := range []string{"20261120_a.dat", "20261120_x.done"} {
		p.reaches(name, domain.FileProcessed)
	}
	p.went("20261120_a.dat", "DISCOVERED", "DOWNLOADING", "DOWNLOADED", "READY", "PROCESSING", "PROCESSED")

	dir.set(func() { dir.files = append(dir.files, file("20261120_c.dat")) })
	p.asked()
	p.reaches("20261120_c.dat", domain.FileReady)
	in.shown()
	in.says(0, words("report reconciliation --dataset nights"), "and is in no deposit: `accession file abandon` gives it up")
	in.says(0, []string{"file", "abandon", string(dir.hash("20261120_c.dat")), "--reason", "it came too late"}, "it is not processed")
	p.reaches("20261120_c.dat", domain.FileAbandoned)
	p.went("20261120_c.dat", "DISCOVERED", "DOWNLOADING", "DOWNLOADED", "READY", "PROCESSING", "PROCESSING_FAILED:abandoned_by_operator", "ABANDONED:abandoned_by_operator")
	in.says(0, words("slot add nights 20261121 --from 2026-01-01T00:00Z --to 2126-01-02T00:00Z"), "PENDING")
	in.says(0, words("slot open nights 20261121 --reason now"), "ACTIVE")
	in.says(0, words("slot close nights 20261121 --reason over"), "DONE")
	once()
	once()
	in.says(0, words("report reconciliation --dataset nights"), "it came after its group was found complete, and is in no deposit", "the deposit of its group was made without it")
	if n := p.count("select count(*) from report.group_deposit where (group_name = '20261121' and cause = 'slot' and deposited = 1 and missing = 1) or (group_name = '20261120' and late = 1 and deposited = 2)"); n != 2 {
		t.Error("what is late or missing is not counted")
	}
	var d directories.Discovery
	in.must(json.Unmarshal([]byte(in.says(0, words("discover show nights -o json"))), &d))
	if g := d.Groups; g == nil || g.Deposited != 2 || g.Waiting != 0 || d.Deposit == nil || d.Deposit.Marker != "*.done" || d.GroupBy != "^([0-9]+)_" {
		t.Errorf("%+v", d)
	}

	in.serveInProcess(run.RoleDaemons)
	waitFor(t, "both batches to be completed", func() bool {
		return p.count("select count(*) from accession.batch where submitter = 'ana' and status = 'completed'") == 2
	})
	if n := p.count("select count(*) from accession.batch"); n != 2 {
		t.Errorf("%d batches, want 2", n)
	}
	for _, c := range []struct {
		exit int
		args []string
		says string
	}{
		{3, words("discover add https://data.example.org/ --dataset nights --name two --deposit test --reason try"), "makes deposits of the groups of the dataset already"},
		{2, words("discover add https://data.example.org/ --dataset nights --name two --complete-files 3 --reason try"), "name the profile of their deposits"},
		{2, words("discover add https://data.example.org/ --dataset nights --name two --group one --group-by (.) --reason try"), "choose one of the two"},
		{2, words("discover add https://data.example.org/ --dataset nights --name two --deposit test --complete-marker a/b --reason try"), "without a slash"},
		{4, words("discover add https://data.example.org/ --dataset nights --name two --deposit sand --reason try"), "sand"},
	} {
		in.says(c.exit, c.args, c.says)
	}
	in.says(0, words("verify"))
}

// TestGroupIsDepositedOnce: a group is not looked at while its directory is being read; one that
// was deposited by a process that died before it kept the batch is deposited as the same batch;
// while no batch can be made of it, it waits and says why.
// Shows: P1 P6
func TestGroupIsDepositedOnce(t *testing.T) {
	t.Parallel()
	dir := newOpenDirectory(t, "20261120_a.dat 20-Nov-2026 09:05 32", "20261120_b.dat 20-Nov-2026 09:05 32")
	in := newInstallation(t, "ready_interval=100ms")
	p := newPolled(t, in, dir, "--deposit", "test", "--each", "--submitter", "ana", "--complete-files", "2")
	depositor, err := in.wired.Groups(in.ctx())
	in.must(err)
	in.serveInProcess(run.RoleDownload, run.RoleReady)
	p.polled()
	p.reaches("20261120_a.dat", domain.FileReady)
	p.reaches("20261120_b.dat", domain.FileReady)
	in.shown()
	once := func() {
		t.Helper()
		in.must(depositor.Once(in.ctx()))
	}
	p.exec("update record.discovery set begun_at = clock_timestamp()") // a poll began, and its process died
	once()
	in.says(0, words("discover show nights"), "20261120 waits: its directory is being read")
	in.says(0, words("discover run nights"))
	in.says(0, []string{"intake", "close", "--message", "closed for a try", "--reason", "to try it"})
	p.polled()
	once()
	in.says(0, words("discover show nights"), "20261120 waits: ", "closed for a try")
	in.says(3, []string{"file", "abandon", string(dir.hash("20261120_a.dat")), "--reason", "not needed"}, "it is in the deposit of its group 20261120, and is processed with it")
	in.says(0, []string{"intake", "open", "--reason", "tried"})
	once()
	if n := p.count("select count(*) from record.group_deposit where batch_id <> '' and type = 'file_batch_manifest' and ended_at is not null"); n != 1 {
		t.Fatal("the group is not deposited")
	}
	p.exec("update record.group_deposit set batch_id = '', ended_at = null") // the process died before it was kept
	once()
	in.shown()
	if n := p.count("select count(*) from accession.batch"); n != 1 {
		t.Errorf("%d batches, want 1", n)
	}
	if n := p.count("select count(*) from record.group_deposit g join accession.batch b on b.id = g.batch_id where g.ended_at is not null and b.submitter = 'ana'"); n != 1 {
		t.Error("the batch of the group is not kept again")
	}
}

// countedTables counts what is asked of the tables.
type countedTables struct {
	query.DB
	n atomic.Int64
}

func (c *countedTables) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	c.n.Add(1)
	return c.DB.Query(ctx, sql, args...)
}

func (c *countedTables) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	c.n.Add(1)
	return c.DB.QueryRow(ctx, sql, args...)
}

// TestWaitingGroupsAreReadAtOnce: however many groups wait, they are looked at with as many
// questions to the tables as one is, and each says what it waits for; one of them that is complete
// is deposited.
// Shows: P8
func TestWaitingGroupsAreReadAtOnce(t *testing.T) {
	t.Parallel()
	file := func(name string) string { return name + " 20-Nov-2026 09:05 25" }
	dir := newOpenDirectory(t, file("1_a.dat"))
	in := newInstallation(t, "ready_interval=100ms")
	p := newPolled(t, in, dir, "--group-by", "^([0-9]+)_", "--deposit", "test", "--submitter", "ana", "--complete-files", "2")
	depositor, err := in.wired.Groups(in.ctx())
	in.must(err)
	asked := &countedTables{DB: depositor.Tables}
	depositor.Tables = asked
	in.serveInProcess(run.RoleDownload, run.RoleReady)
	look := func() int64 {
		t.Helper()
		in.shown()
		before := asked.n.Load()
		in.must(depositor.Once(in.ctx()))
		return asked.n.Load() - before
	}
	p.polled()
	p.reaches("1_a.dat", domain.FileReady)
	one := look()
	dir.set(func() {
		dir.files = append(dir.files, file("2_a.dat"), file("3_a.dat"), file("4_a.dat"), file("5_a.dat"))
	})
	p.asked()
	for _, group := range []string{"2", "3", "4", "5"} {
		p.reaches(group+"_a.dat", domain.FileReady)
	}
	if all := look(); all != one {
		t.Errorf("five groups are looked at with %d questions, one with %d", all, one)
	}
	in.says(0, words("discover show nights"), "groups: 0 deposited, 5 waiting", "1 waits: 1 of 2 files are there", "5 waits: 1 of 2 files are there")
	dir.set(func() { dir.files = append(dir.files, file("3_b.dat")) })
	p.asked()
	p.reaches("3_b.dat", domain.FileReady)
	look()
	if n := p.count("select count(*) from report.group_deposit where status = 'deposited' and group_name = '3' and deposited = 2"); n != 1 {
		t.Error("the complete group among those that wait is not deposited")
	}
	if n := p.count("select count(*) from report.group_deposit where status = 'waiting'"); n != 4 {
		t.Errorf("%d groups wait, want 4", n)
	}
}

// depositsAGroup: a group becomes one batch, and its files are processed once, whatever the process
// died at.
func depositsAGroup(o *crashInstallation, point string) {
	dir, name := newOpenDirectory(o.t, "1_a.txt 20-Nov-2026 09:05 25"), "d"+strings.ReplaceAll(uuid.NewString(), "-", "")
	o.run("dataset", "add", name, "--profile", "test", "--reason", "to try it")
	o.run("discover", "add", dir.URL+"/night/", "--dataset", name, "--name", name, "--group-by", "^([0-9])_", "--deposit", "test", "--submitter", name, "--complete-files", "2", "--every", "1s", "--reason", "to try it")
	two := func() { dir.files = append(dir.files, "1_b.txt 20-Nov-2026 09:05 25") }
	if strings.HasPrefix(point, "record/group/refuse/") { // the intake is closed for a while
		o.run("intake", "close", "--message", "closed for a try", "--reason", "to try it")
	}
	if !strings.HasPrefix(point, "record/group/wait/") {
		dir.set(two)
	}
	o.dies(point, nil, "serve")
	if strings.HasPrefix(point, "record/group/refuse/") {
		o.run("intake", "open", "--reason", "tried")
	}
	dir.set(func() { dir.files = dir.files[:1]; two() })
	s := o.serve()
	s.works()
	waitFor(o.t, "the deposit of the group of "+name, func() bool {
		return o.count("select count(*) from accession.batch where submitter = $1 and status = 'completed'", name) == 1 &&
			o.count("select count(*) from accession.file where dataset = $1 and status = 'PROCESSED'", name) == 2
	})
	s.stop()
	for says, n := range map[string]int{
		"select count(*) from accession.batch where submitter = $1":                                                 1,
		"select count(*) from record.group_deposit where dataset = $1 and ended_at is not null and cause = 'files'": 1,
		"select count(*) from record.group_file where dataset = $1 and part = 'deposited'":                          2,
	} {
		if is := o.count(says, name); is != n {
			o.t.Errorf("%s: %s: %d, want %d", point, says, is, n)
		}
	}
	o.run("discover", "rm", name, "--reason", "tried")
}
