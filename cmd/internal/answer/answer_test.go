package answer_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/accession-ingest/accession/cmd/internal/answer"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/domain/access"
	"github.com/accession-ingest/accession/domain/lookup"
	"github.com/accession-ingest/accession/projections/projtest"
)

// answers returns the answers to a list of who may see so much, one line of text each.
func answers(t *testing.T, db *pgxpool.Pool, sees *access.Filter, list string) (all []string) {
	t.Helper()
	from := answer.Sources{Tables: db, Records: record.New(db), Sees: sees}
	for a, err := range from.Each(t.Context(), lookup.Lines(strings.NewReader(list))) {
		if err != nil {
			t.Fatal(err)
		}
		s := fmt.Sprintf("%d %s %s", a.Line, a.Outcome, a.Kind)
		if a.Outcome == lookup.Found {
			s += fmt.Sprintf(": %s %s %s%s v%d %s %q %q", a.About, a.Status, a.Batch, a.Job, a.Version, a.Where, a.File, a.Message)
		}
		all = append(all, s)
	}
	return all
}

// TestEveryKind asks for identifiers of every kind that the tables and the records of a
// history have, and for such as they do not have.
func TestEveryKind(t *testing.T) {
	t.Parallel()
	db, ctx := projtest.DB(t), t.Context()
	digest, payload := strings.Repeat("d", 64), strings.Repeat("e", 64)
	for _, sql := range []string{
		`insert into accession.batch (id, version, status, command_id, profile_name, submitter, payload_url, erc_what, erc_who, erc_when, erc_where, type,
		        submission_mode, digest_algorithm, digest_value, file_name, size, reports, jobs_created, jobs_processing, jobs_held, jobs_failed,
		        jobs_completed, jobs_deleted, submission_id, reason_code, reason_message)
		 select 'bid000000000' || i, 1, case i when 1 then 'completed' else 'failed' end, '', 'maps', 'ana', '', '', '', '', '', 'file', 'add', '', '', 'f' || i, 9, 0, 0, 0, 0, 0, 0, 0,
		        's-1', case i when 2 then 'no_answer' end, case i when 2 then 'the server is away' end from generate_series(1, 2) i`,
		`insert into accession.job (id, version, batch_id, status, retry_count, priority, space_needed, command_id, cleaned, profile_name, submitter, payload_url,
		        payload_type, response_type, submission_mode, working_dir, digest_algorithm, digest_value, file_name, size, manifest_row, primary_identifier,
		        erc_who, erc_what, erc_when, erc_where, object_version, manifest_key)
		 select 'jid000000000' || i, 1, 'bid0000000001', 'completed', 0, 5, 0, '', true, 'maps', 'ana', '', 'file', '', 'add', '', '', '', 'g', 9, 0,
		        'ark:/99999/fk4given', '', '', '', '', i, 'm' || i from generate_series(1, 2) i`,
		`insert into record.object (primary_identifier, owner, collection, current_version, erc_who, erc_what, erc_when, local_id)
		 values ('ark:/99999/fk4given', 'us', 'maps', 2, '', 'A chart', '', '{shelf 9}')`,
		`insert into record.object_version (primary_identifier, version, job_id, batch_id, profile_name, submitter, manifest_key, manifest_sha256, files, bytes, stored_at)
		 select 'ark:/99999/fk4given', i, 'jid000000000' || i, 'bid0000000001', 'maps', 'ana', 'm' || i, '', 1, 9, now() from generate_series(1, 2) i`,
		`insert into record.object_file values ('ark:/99999/fk4given', 1, 'producer', 'g', 'k1', 9, '` + digest + `', '')`,
		`insert into record.local_id (owner, local_id, primary_identifier, job_id, collection) values ('us', 'shelf 9', 'ark:/99999/fk4given', 'jid0000000001', 'maps')`,
		`insert into record.deposit values ('bid0000000002', 'maps', 'ana', 'sha256', '` + payload + `')`,
	} {
		if _, err := db.Exec(ctx, sql); err != nil {
			t.Fatal(err)
		}
	}
	versions := []string{`object current bid0000000001jid0000000002 v2 m2 "" ""`, `object superseded bid0000000001jid0000000001 v1 m1 "" ""`,
		`job completed bid0000000001jid0000000002 v2 m2 "g" ""`, `job completed bid0000000001jid0000000001 v1 m1 "g" ""`}
	batch1, batch2 := `batch completed bid0000000001 v0  "f1" ""`, `batch failed bid0000000002 v0  "f2" "no_answer: the server is away"`
	for line, want := range map[string]struct {
		kind  lookup.Kind
		found []string
	}{
		"bid0000000002":                          {lookup.Batch, []string{batch2}},
		"jid0000000001":                          {lookup.Job, versions[3:]},
		"ark:/99999/fk4given":                    {lookup.Primary, versions},
		"https://n2t.net/ARK:99999/fk4-given":    {lookup.Primary, versions},
		"local: shelf 9":                         {lookup.Local, versions},
		"shelf 9":                                {lookup.Local, versions},
		digest:                                   {lookup.Digest, []string{`file superseded bid0000000001jid0000000001 v1 k1 "g" ""`}},
		"sha256:" + strings.ToUpper(payload):     {lookup.Digest, []string{batch2}},
		"s-1":                                    {lookup.Submission, []string{batch2, batch1}},
		"primary:shelf 9":                        {lookup.Primary, nil},
		"bid0000000009":                          {lookup.Batch, nil},
		"job:jid0000000009":                      {lookup.Job, nil},
		strings.Repeat("f", 64):                  {lookup.Digest, nil},
		"local:ark:/99999/fk4given":              {lookup.Local, nil},
		"nothing of this name; drop table batch": {lookup.Name, nil},
	} {
		var list []string
		for _, f := range want.found {
			list = append(list, fmt.Sprintf("1 found %s: %s", want.kind, f))
		}
		if list == nil {
			list = []string{"1 not found " + string(want.kind)}
		}
		if got := answers(t, db, nil, line); !slices.Equal(got, list) {
			t.Errorf("%q is answered\n%q, want\n%q", line, got, list)
		}
	}
	got := answers(t, db, nil, "bid0000000001\n\nwrong\x07\nbid0000000001\n")
	if want := []string{"1 found batch: " + batch1, "3 wrong ", "4 found batch: " + batch1}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestOnlyWhatMayBeSeen: what the user who asks may not see is not found, whatever it is asked
// by, and does not hide what they may see, of which there is less and which is older.
func TestOnlyWhatMayBeSeen(t *testing.T) {
	t.Parallel()
	db, ctx := projtest.DB(t), t.Context()
	digest, payload := strings.Repeat("d", 64), strings.Repeat("e", 64)
	n := lookup.MaxAnswers + 1 // of cy's, which are newer than the two of ana's
	for _, sql := range []string{
		`insert into accession.batch (id, version, status, command_id, profile_name, collection, submitter, payload_url, erc_what, erc_who, erc_when, erc_where, type,
		        submission_mode, digest_algorithm, digest_value, file_name, size, reports, jobs_created, jobs_processing, jobs_held, jobs_failed,
		        jobs_completed, jobs_deleted, submission_id)
		 select 'bid' || lpad(i::text, 10, '0'), 1, 'completed', '', 'p', case i when 1 then 'maps' else 'texts' end, case when i < 3 then 'ana' else 'cy' end, '', '', '', '', '', 'file', 'add', '', '', '', 9, 0, 0, 0, 0, 0, 0, 0, 's-1'
		 from generate_series(1, $1::int + 2) i`,
		`insert into accession.job (id, version, batch_id, status, retry_count, priority, space_needed, command_id, cleaned, profile_name, collection, submitter, payload_url,
		        payload_type, response_type, submission_mode, working_dir, digest_algorithm, digest_value, file_name, size, manifest_row, primary_identifier,
		        erc_who, erc_what, erc_when, erc_where)
		 select replace(id, 'bid', 'jid'), 1, id, 'completed', 0, 5, 0, '', true, 'p', collection, submitter, '', 'file', '', 'add', '', '', '', 'g', 9, 0,
		        'ark:/99999/fk4one', '', '', '', '' from accession.batch where $1::int > 0`,
		`insert into record.object (primary_identifier, owner, collection, current_version, erc_who, erc_what, erc_when, local_id)
		 values ('ark:/99999/fk4one', 'us', 'texts', $1::int + 2, '', '', '', '{}'), ('ark:/99999/fk4map', 'us', 'maps', 1, '', '', '', '{}')`,
		`insert into record.object_version (primary_identifier, version, job_id, batch_id, profile_name, submitter, manifest_key, manifest_sha256, files, bytes, stored_at)
		 select 'ark:/99999/fk4one', i, 'jid' || lpad(i::text, 10, '0'), 'bid' || lpad(i::text, 10, '0'), 'p', case i when 2 then 'ana' else 'cy' end, '', '', 1, 9, now() from generate_series(2, $1::int + 2) i
		 union all select 'ark:/99999/fk4map', 1, 'jid0000000001', 'bid0000000001', 'p', 'ana', '', '', 1, 9, now()`,
		`insert into record.object_file select primary_identifier, version, 'producer', 'g', 'k', 9, '` + digest + `', '' from record.object_version where $1::int > 0`,
		`insert into record.deposit select id, 'p', submitter, 'sha256', '` + payload + `' from accession.batch where $1::int > 0`,
	} {
		if _, err := db.Exec(ctx, sql, n); err != nil {
			t.Fatal(sql, err)
		}
	}
	const first, second, last = "0000000001", "0000000002", "0000000003"
	by := []string{"ark:/99999/fk4one", "ark:/99999/fk4map", digest, payload, "s-1", "bid" + first, "bid" + second, "bid" + last, "jid" + first, "jid" + second, "jid" + last}
	for _, c := range []struct {
		name string
		sees access.Filter
		want map[string]string // which numbers are found, "" = none
	}{
		{"of maps", access.Filter{Collections: []string{"maps"}}, map[string]string{by[0]: first, by[1]: first, by[2]: first, by[3]: first, by[4]: first, by[5]: first, by[8]: first}},
		{"a depositor", access.Filter{Submitter: "ana"}, map[string]string{by[0]: second + " " + first, by[1]: first, by[2]: second + " " + first, by[3]: second + " " + first,
			by[4]: second + " " + first, by[5]: first, by[6]: second, by[8]: first, by[9]: second}},
		{"without rights", access.Filter{}, nil},
	} {
		for _, line := range by {
			var found []string
			for _, a := range answers(t, db, &c.sees, line) {
				for _, number := range []string{first, second, last} {
					if strings.Contains(a, "bid"+number) && !slices.Contains(found, number) {
						found = append(found, number)
					}
				}
			}
			slices.Sort(found)
			slices.Reverse(found)
			if got := strings.Join(found, " "); got != c.want[line] {
				t.Errorf("who sees what is %s finds %q by %s, want %q", c.name, got, line, c.want[line])
			}
			if all := answers(t, db, nil, line); len(all) == 0 || strings.Contains(all[0], "not found") {
				t.Errorf("nothing is found by %s: %q", line, all)
			}
		}
	}
}
