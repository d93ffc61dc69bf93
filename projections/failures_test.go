package projections_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/accession-ingest/accession/domain/access"
	"github.com/accession-ingest/accession/projections/projtest"
	"github.com/accession-ingest/accession/projections/query"
)

// failedJob is a job as failed jobs are grouped by.
type failedJob struct {
	ID, Status, Code, Host, Collection, Profile, Submitter, Batch, Message string
	At, Created                                                            time.Time
}

// TestFailedJobs compares the groups of failed jobs under each filter with a plain reading of the
// table, and reads no more of it than has failed.
func TestFailedJobs(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	w, batch, _ := story(t)
	db := projected(t, w)
	if _, err := db.Exec(ctx, `insert into accession.job select (jsonb_populate_record(null::accession.job, to_jsonb(j) || jsonb_build_object('id', 'jid' || lpad((9000000000 + n)::text, 10, '0'),
		'batch_id', case when n % 7 = 0 then j.batch_id else 'bid' || lpad((9000000000 + n % 5)::text, 10, '0') end, 'status', case when n % 3 = 0 then 'failed' else 'completed' end,
		'reason_code', (array['timeout', 'timeout', 'digest_mismatch', 'container_invalid'])[1 + n % 4], 'reason_class', 'system', 'reason_message', 'message ' || n, 'host', (array['', 'a.example.org', 'b.example.org'])[1 + (n / 4) % 3],
		'collection', 'c' || n % 2, 'profile_name', 'p' || n % 2, 'submitter', 's' || n % 5, 'created_at', j.created_at - n * interval '1 minute', 'status_since', j.created_at + (n * 37 % 1000) * interval '1 minute'))).*
		from (select * from accession.job limit 1) j, generate_series(1, 900) n`); err != nil {
		t.Fatal(err)
	}
	rows, err := db.Query(ctx, `select id, status, coalesce(reason_code, ''), host, collection, profile_name, submitter, batch_id, coalesce(reason_message, ''), status_since, created_at from accession.job`)
	if err != nil {
		t.Fatal(err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[failedJob])
	if err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]query.JobFilter{
		"none": {}, "code": {Filter: query.Filter{Code: "timeout"}}, "host": {Filter: query.Filter{Host: "a.example.org"}}, "collection": {Filter: query.Filter{Collection: "c1"}},
		"profile": {Filter: query.Filter{Profile: "p0"}}, "submitter": {Filter: query.Filter{Submitter: "s3"}}, "batch": {Batch: batch}, "age": {Filter: query.Filter{Since: all[0].Created.Add(-5 * time.Hour), Until: all[0].Created.Add(-time.Hour)}},
		"what is seen": {Filter: query.Filter{Sees: &access.Filter{Collections: []string{"c1"}, Submitter: "s2"}}}, "the own": {Filter: query.Filter{Sees: &access.Filter{Submitter: "s2"}}}, "nothing": {Filter: query.Filter{Sees: &access.Filter{}}},
	} {
		want := groupsOf(all, f)
		got, err := query.FailedJobs(ctx, db, f)
		if err != nil {
			t.Fatal(err)
		}
		if len(want) != len(got) || name != "nothing" && len(got) == 0 {
			t.Errorf("by %s: %d groups, want %d", name, len(got), len(want))
			continue
		}
		for i := range got {
			if g, w := fmt.Sprintf("%+v", utc(got[i])), fmt.Sprintf("%+v", utc(want[i])); g != w {
				t.Errorf("by %s: %s\nwant %s", name, g, w)
			}
		}
	}
	if got, err := query.FailedJobs(ctx, db, query.JobFilter{Limit: 3}); err != nil || len(got) != 3 || got[0].Groups <= 3 || got[0].Jobs < got[2].Jobs {
		t.Errorf("the three largest: %+v %v", got, err)
	}
	if _, err := db.Exec(ctx, "vacuum analyze accession.job"); err != nil {
		t.Fatal(err)
	}
	planned := &projtest.Planned{Pool: db}
	if _, err := query.FailedJobs(ctx, planned, query.JobFilter{}); err != nil {
		t.Fatal(err)
	}
	if whole := planned.Whole(); len(whole) > 0 {
		t.Errorf("it reads from end to end: %v", whole)
	}
}

func utc(g query.FailedGroup) query.FailedGroup {
	g.FirstFailedAt, g.LastFailedAt, g.Class = g.FirstFailedAt.UTC(), g.LastFailedAt.UTC(), ""
	return g
}

// groupsOf groups failed jobs one by one.
func groupsOf(all []failedJob, f query.JobFilter) []query.FailedGroup {
	type key struct{ code, host, collection, profile string }
	groups, alike := map[key]*query.FailedGroup{}, map[key]int64{}
	for _, j := range all {
		r := listed{ID: j.ID, Profile: j.Profile, Collection: j.Collection, Submitter: j.Submitter, Code: j.Code, Hosts: []string{j.Host}, At: j.Created}
		if j.Status != "failed" || !r.chosen(f.Filter) || f.Batch != "" && j.Batch != string(f.Batch) {
			continue
		}
		k := key{j.Code, j.Host, j.Collection, j.Profile}
		g := groups[k]
		if g == nil {
			g = &query.FailedGroup{Code: j.Code, Host: j.Host, Collection: j.Collection, ProfileName: j.Profile, FirstFailedAt: j.At, LastFailedAt: j.At}
			groups[k] = g
		}
		g.Jobs++
		if j.At.Before(g.FirstFailedAt) {
			g.FirstFailedAt = j.At
		}
		if j.At.After(g.LastFailedAt) {
			g.LastFailedAt = j.At
		}
		if j.ID > g.Example {
			g.Example, g.Message = j.ID, j.Message
		}
		k.host = ""
		alike[k]++
	}
	list := make([]query.FailedGroup, 0, len(groups))
	for k, g := range groups {
		k.host = ""
		g.Alike, g.Groups = alike[k], int64(len(groups))
		list = append(list, *g)
	}
	slices.SortFunc(list, func(a, b query.FailedGroup) int {
		return cmp.Or(cmp.Compare(b.Jobs, a.Jobs), cmp.Compare(a.Code, b.Code), cmp.Compare(a.Host, b.Host), cmp.Compare(a.Collection, b.Collection), cmp.Compare(a.ProfileName, b.ProfileName))
	})
	return list
}
