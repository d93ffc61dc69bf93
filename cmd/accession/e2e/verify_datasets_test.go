package e2e

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/consistency"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/compute"
)

// newDatasets is an installation with a dataset, a directory that was polled for it, slots of
// each state, and entries of the compute queue of each state.
func newDatasets(t *testing.T) (p *polledInstallation, q queueOfWork, ids [6]compute.ID) {
	t.Helper()
	dir := newOpenDirectory(t, "20261120_a.fits 20-Nov-2026 09:05 2048", "20261121_b.fits 21-Nov-2026 09:05 17")
	p = newPolled(t, newInstallation(t), dir)
	rules := filepath.Join(t.TempDir(), "rules.json")
	p.must(os.WriteFile(rules, []byte(`{"min_files":2}`), 0o600))
	p.says(0, []string{"dataset", "set", "nights", "--rules", rules, "--reason", "two make a night"})
	p.polled()
	for _, group := range []string{"1", "2", "3", "4"} {
		p.says(0, words("slot add nights "+group+" --from 2026-01-01T00:00Z --to 2126-01-02T00:00Z"))
	}
	p.says(0, words("slot close nights 2 --reason clouds"))
	for _, group := range []string{"3", "4"} {
		p.says(0, words("slot open nights "+group+" --reason early"))
	}
	p.says(0, words("slot close nights 4 --reason complete"))
	q = p.queueOfWork()
	ids = q.entriesOfAllStates()
	p.shown()
	if r := p.settled(); len(r.Findings) > 0 || r.Slots != 4 || r.Entries != len(ids) {
		t.Fatalf("before any damage: %d slots, %d entries\n%s", r.Slots, r.Entries, findings(r.Findings))
	}
	return p, q, ids
}

// Each row of datasets, discoveries, slots and entries that is lost, altered or too many is
// seen, in each table.
// Shows: P21
func TestVerifySeesDamagedRowsOfDatasets(t *testing.T) {
	t.Parallel()
	p, _, ids := newDatasets(t)
	done, failed, owned := string(ids[0]), string(ids[1]), string(ids[2])
	// Each damage is to the rows of a table that a condition chooses; then they are put back.
	for _, c := range []struct {
		name, table, where, change, about string // no change = the rows are lost
		want                              domain.Code
	}{
		{"a dataset is lost", "accession.setting", "kind = 'dataset'", "", "setting/dataset:nights", consistency.RowMissing},
		{"a dataset's rules", "accession.setting", "kind = 'dataset'", `value = jsonb_set(value, '{dataset,rules,min_files}', '3')`, "setting/dataset:nights", consistency.RowWrong},
		{"why a dataset was changed", "accession.setting", "kind = 'dataset'", "why = 'x'", "dataset:nights", consistency.SumWrong},
		{"who changed a dataset", "accession.setting", "kind = 'dataset'", "changed_by = 'x'", "dataset:nights", consistency.SumWrong},
		{"a discovery is lost", "accession.setting", "kind = 'discovery'", "", "setting/discovery:nights", consistency.RowMissing},
		{"a discovery's directory", "accession.setting", "kind = 'discovery'", `value = jsonb_set(value, '{discovery,url}', '"https://x.example.org/"')`, "setting/discovery:nights", consistency.RowWrong},
		{"an old discovery", "accession.setting", "kind = 'discovery'", "version = 0", "setting/discovery:nights", consistency.RowBehind},
		{"a slot is lost", "accession.slot", "group_name = '1'", "", "slot/nights:1", consistency.RowMissing},
		{"a slot's state", "accession.slot", "group_name = '3'", "status = 'DONE'", "slot/nights:3", consistency.RowWrong},
		{"a slot's window", "accession.slot", "group_name = '3'", "closes_at = closes_at + interval '1 s'", "slot/nights:3", consistency.RowWrong},
		{"a slot's reason", "accession.slot", "group_name = '4'", "reason_message = 'x'", "slot/nights:4", consistency.RowWrong},
		{"when a slot was made", "accession.slot", "group_name = '4'", "created_at = created_at - interval '1 s'", "nights:4", consistency.SumWrong},
		{"an old slot", "accession.slot", "group_name = '4'", "version = version - 1", "slot/nights:4", consistency.RowBehind},
		{"a change of a slot is lost", "accession.slot_transition", "slot_id = 'nights:4' and version = 2", "", "nights:4/2", consistency.SumWrong},
		{"from when a slot changed", "accession.slot_transition", "slot_id = 'nights:4' and version = 2", "from_since = from_since - interval '1 s'", "nights:4/2", consistency.SumWrong},
		{"who changed a slot", "accession.slot_transition", "slot_id = 'nights:2' and version = 2", "actor = 'x'", "nights:2/2", consistency.SumWrong},
		{"a change of a slot to another state", "accession.slot_transition", "slot_id = 'nights:2' and version = 2", "to_status = 'DONE'", "nights:2/2", consistency.SumWrong},
		{"an entry is lost", "accession.compute_entry", "id = '" + owned + "'", "", "entry/" + owned, consistency.RowMissing},
		{"an entry's state", "accession.compute_entry", "id = '" + failed + "'", "status = 'PENDING'", "entry/" + failed, consistency.RowWrong},
		{"an entry's result", "accession.compute_entry", "id = '" + done + "'", "result_sha256 = 'cd'", "entry/" + done, consistency.RowWrong},
		{"an entry's reason", "accession.compute_entry", "id = '" + failed + "'", "reason_message = 'x'", "entry/" + failed, consistency.RowWrong},
		{"when an entry was claimed", "accession.compute_entry", "id = '" + owned + "'", "claimed_at = claimed_at - interval '1 s'", owned, consistency.SumWrong},
		{"when an entry ended", "accession.compute_entry", "id = '" + failed + "'", "ended_at = null", failed, consistency.SumWrong},
		{"who had an entry", "accession.compute_entry", "id = '" + done + "'", "worker = 'x'", done, consistency.SumWrong},
		{"an old entry", "accession.compute_entry", "id = '" + done + "'", "version = version - 1", "entry/" + done, consistency.RowBehind},
		{"a result is lost", "record.compute_result", "entry_id = '" + done + "'", "", "entry/" + done, consistency.ResultMissing},
		{"another result", "record.compute_result", "entry_id = '" + done + "'", "sha256 = 'cd'", "entry/" + done, consistency.ResultMissing},
		{"what a result says", "record.compute_result", "entry_id = '" + done + "'", `result = '{"n": 2}'`, "entry/" + done, consistency.ResultWrong},
		{"outputs of a result", "record.compute_result", "entry_id = '" + done + "'", `outputs = '[{"name": "x"}]'`, "entry/" + done, consistency.ResultWrong},
		{"a result's key", "record.compute_result", "entry_id = '" + done + "'", "key = 'x'", "entry/" + done, consistency.ResultWrong},
		{"a result's exit status", "record.compute_result", "entry_id = '" + done + "'", "exit_status = 1", "entry/" + done, consistency.ResultWrong},
		{"a result's worker", "record.compute_result", "entry_id = '" + done + "'", "worker = 'x'", "entry/" + done, consistency.ResultWrong},
		{"a result's claim", "record.compute_result", "entry_id = '" + done + "'", "claim = 9", "entry/" + done, consistency.ResultWrong},
	} {
		p.exec("create table record.aside as select * from " + c.table + " where " + c.where)
		if c.change == "" {
			p.exec("delete from " + c.table + " where " + c.where)
		} else {
			p.exec("update " + c.table + " set " + c.change + " where " + c.where)
		}
		p.finds(c.name, c.want, c.about)
		if c.change != "" {
			p.exec("delete from " + c.table + " where " + c.where)
		}
		p.exec("insert into " + c.table + " select * from record.aside")
		_, err := p.db.Exec(t.Context(), "drop table record.aside")
		p.must(err)
	}
	for _, c := range []struct {
		name, table, from, as, about string // a row is added, as one with other columns
		want                         domain.Code
	}{
		{"a dataset too many", "accession.setting", "kind = 'dataset'", `{"name": "x"}`, "setting/dataset:x", consistency.RowExtra},
		{"a slot too many", "accession.slot", "group_name = '1'", `{"id": "nights:x", "group_name": "x"}`, "slot/nights:x", consistency.RowExtra},
		{"a change of a slot too many", "accession.slot_transition", "slot_id = 'nights:4' and version = 2", `{"version": 9}`, "nights:4/9", consistency.SumWrong},
		{"an entry too many", "accession.compute_entry", "id = '" + done + "'", `{"id": "eid0000009999"}`, "entry/eid0000009999", consistency.RowExtra},
		{"a result too many", "record.compute_result", "entry_id = '" + done + "'", `{"entry_id": "eid0000009999"}`, "entry/eid0000009999", consistency.ResultUnexplained},
	} {
		p.exec("insert into " + c.table + " select (jsonb_populate_record(r, '" + c.as + "')).* from " + c.table + " r where " + c.from)
		p.finds(c.name, c.want, c.about)
		p.exec("delete from " + c.table + " r where to_jsonb(r) @> '" + c.as + "'")
	}
	// What the tables lack, and the log has, is no reason to say anything of the records.
	for _, table := range []string{"accession.compute_entry", "accession.file"} {
		p.exec("create table record.aside as select * from " + table)
		p.exec("delete from " + table)
		for _, f := range p.verified().Findings {
			if f.In == consistency.InInventory {
				t.Errorf("without %s: %s", table, f)
			}
		}
		p.exec("insert into " + table + " select * from record.aside")
		_, err := p.db.Exec(t.Context(), "drop table record.aside")
		p.must(err)
	}
	// A result of an attempt that did not end with it is nothing wrong.
	p.exec("insert into record.compute_result (entry_id, sha256, key, result, exit_status, last_lines, worker, attempt) values ('" + failed + "', 'cd', 'failed', '1', 0, '', 'x', 1)")
	if r := p.verified(); len(r.Findings) > 0 {
		t.Errorf("all is mended, yet:\n%s", findings(r.Findings))
	}
	p.says(0, words("verify"), "results of the compute queue", "listings of open directories")
}

// Rows of datasets, discoveries, slots and entries that are lost, altered or too many are seen by
// verify, which names what mends them: the commands of its remedy, one after the other, make
// them what they were.
// Shows: P4
func TestRebuildMendsRowsOfDatasets(t *testing.T) {
	t.Parallel()
	p, _, ids := newDatasets(t)
	tables := []string{"accession.setting", "accession.slot", "accession.slot_transition", "accession.compute_entry", "accession.file"}
	rows := func() map[string]string {
		t.Helper()
		all := map[string]string{}
		for _, table := range tables {
			var text string
			p.must(p.db.QueryRow(p.ctx(), "select coalesce(jsonb_pretty(jsonb_agg(to_jsonb(r) order by to_jsonb(r)::text)), '') from "+table+" r").Scan(&text))
			all[table] = text
		}
		return all
	}
	before := rows()
	for _, damage := range []string{
		"delete from accession.setting where kind = 'dataset'",
		"update accession.setting set value = jsonb_set(value, '{discovery,url}', '\"https://x.example.org/\"') where kind = 'discovery'",
		"delete from accession.slot where group_name = '1'",
		"update accession.slot set status = 'DONE' where group_name = '3'",
		"insert into accession.slot select (jsonb_populate_record(r, '{\"id\": \"nights:x\", \"group_name\": \"x\"}')).* from accession.slot r where group_name = '2'",
		"delete from accession.slot_transition where slot_id = 'nights:4' and version = 2",
		"delete from accession.compute_entry where id = '" + string(ids[2]) + "'",
		"update accession.compute_entry set status = 'PENDING' where id = '" + string(ids[1]) + "'",
		"insert into accession.compute_entry select (jsonb_populate_record(r, '{\"id\": \"eid0000009999\"}')).* from accession.compute_entry r where id = '" + string(ids[0]) + "'",
		"delete from accession.file where path = '20261120_a.fits'",
	} {
		p.exec(damage)
	}
	seen, remedies := map[string]bool{}, map[string]bool{}
	for _, f := range p.verified().Findings {
		if f.In == consistency.InPostgres {
			seen[string(f.Code)+" "+f.Subject], remedies[f.Remedy] = true, true
		}
	}
	for _, want := range []string{"row_missing setting/dataset:nights", "row_wrong setting/discovery:nights", "row_missing slot/nights:1", "row_wrong slot/nights:3", "row_extra slot/nights:x",
		"sum_wrong nights:4/2", "row_missing entry/" + string(ids[2]), "row_wrong entry/" + string(ids[1]), "row_extra entry/eid0000009999", "row_missing " + p.dir.hash("20261120_a.fits").Aggregate().String()} {
		if !seen[want] {
			t.Errorf("verify does not find %s: %v", want, seen)
		}
	}
	if len(remedies) != 1 {
		t.Fatalf("the remedies are %q", slices.Collect(maps.Keys(remedies)))
	}
	for remedy := range remedies {
		commands := regexp.MustCompile("`accession ([^`]*)`").FindAllStringSubmatch(remedy, -1)
		if len(commands) != 3 {
			t.Fatalf("the remedy %q names other commands than three", remedy)
		}
		p.says(1, words(commands[0][1]), "the new tables are not equal to the live ones", "slot_transition has 7 rows, the new one 8")
		p.says(21, words(commands[1][1]), "nights:4")
		p.says(0, words(commands[2][1]))
	}
	p.shown()
	if d := cmp.Diff(before, rows()); d != "" {
		t.Errorf("the rows after the rebuild (-before +after):\n%s", d)
	}
	if r := p.settled(); len(r.Findings) > 0 {
		t.Errorf("after the rebuild:\n%s", findings(r.Findings))
	}
}

// finds checks that verify finds a fault that a person must look at.
func (in *installation) finds(name string, want domain.Code, about string) {
	in.t.Helper()
	r, seen := in.verified(), false
	for _, f := range r.Findings {
		seen = seen || f.Code == want && f.Subject == about
	}
	if !seen || r.Worst != app.NeedsPerson {
		in.t.Errorf("%s: want %s about %q, got\n%s", name, want, about, findings(r.Findings))
	}
}

// Each damage of the rows of what an open directory lists is found and mended, and the next poll
// reads the directory as a whole: it finds nothing new, and nothing that has changed.
// Shows: P21
func TestVerifyRepairsListings(t *testing.T) {
	t.Parallel()
	p, _, _ := newDatasets(t)
	const one = " where path = '20261120_a.fits'"
	hash := string(p.dir.hash("20261120_a.fits"))
	for _, c := range []struct {
		name, damage string
		want         domain.Code
	}{
		{"a row is lost", "delete from record.directory_listing" + one, consistency.ListingMissing},
		{"all rows are lost", "delete from record.directory_listing", consistency.ListingMissing},
		{"another path", "update record.directory_listing set path = 'x'" + one, consistency.ListingWrong},
		{"another file", "update record.directory_listing set raw_file_hash = '" + string(p.dir.hash("20261121_b.fits")) + "'" + one, consistency.ListingWrong},
		{"a file that is not known", "update record.directory_listing set raw_file_hash = 'x'" + one, consistency.ListingUnknown},
		{"a row too many", "insert into record.directory_listing select discovery, 'x', repeat('0', 64), url, size, modified, first_at, last_at from record.directory_listing" + one, consistency.ListingUnknown},
		{"times", "update record.directory_listing set first_at = last_at + interval '1 s'" + one, consistency.ListingWrong},
		{"gone before it was listed", "update record.directory_listing set gone_at = first_at - interval '1 s'" + one, consistency.ListingWrong},
	} {
		p.exec(c.damage)
		p.mends(c.name, c.want)
		if n := p.count("select count(*) from record.directory_listing"); n != 2 {
			t.Fatalf("%s: %d rows, want 2", c.name, n)
		}
		before := p.dir.listed
		if last := p.polled(); last.Outcome != "complete" || p.dir.listed != before+1 || last.New != 0 || last.Known != 2 || last.Changed != 0 || last.Gone != 0 || last.Listed != 2 {
			t.Errorf("%s: the next poll: %+v", c.name, last)
		}
		if n := p.count("select count(*) from record.directory_listing where path = '20261120_a.fits' and raw_file_hash = $1 and changed_at is null and gone_at is null and size = 2048", hash); n != 1 {
			t.Errorf("%s: the row is not what it was", c.name)
		}
	}
	// While a directory is polled, and after a poll that died, a file may be without a row.
	p.exec("update record.discovery set begun_at = clock_timestamp() + interval '1 h'")
	p.exec("delete from record.directory_listing" + one)
	if r := p.settled(); len(r.Findings) > 0 {
		t.Errorf("while a directory is polled:\n%s", findings(r.Findings))
	}
}
