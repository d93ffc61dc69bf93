package e2e

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/accession-ingest/accession/domain"
)

// asked returns the rows of a question, one text each.
func (s *scene) asked(sql string, args ...any) []string {
	s.t.Helper()
	db, err := s.wired.DB(s.ctx())
	if err != nil {
		s.t.Fatal(err)
	}
	rows, err := db.Query(s.ctx(), sql, args...)
	if err != nil {
		s.t.Fatal(err)
	}
	defer rows.Close()
	all := []string{}
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			s.t.Fatal(err)
		}
		all = append(all, line)
	}
	if err := rows.Err(); err != nil {
		s.t.Fatal(err)
	}
	return all
}

func (s *scene) same(what string, want, got []string) {
	s.t.Helper()
	if want == nil {
		want = []string{}
	}
	if d := cmp.Diff(want, got); d != "" {
		s.t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

// tables checks what PostgreSQL shows after the rows that were taken last: the
// event, the change of state, and the aggregates with their attempts and reports.
func (s *scene) tables() {
	s.t.Helper()
	touched := []domain.Aggregate{}
	for _, m := range s.moved {
		r, want := m.event, m.want
		touched = append(touched, r.Aggregate)
		if r.Aggregate.Kind == domain.KindJob {
			if j := s.jobs[domain.JobID(r.Aggregate.ID)]; j != nil {
				touched = append(touched, j.batch.Aggregate())
			}
		}
		s.same(m.row+": accession.event", []string{fmt.Sprintf("%s %s %d %s %d", want.Type, r.Aggregate.Kind, want.Version, want.Actor, r.Seq)},
			s.asked(`select concat_ws(' ', type, kind, version, actor, seq) from accession.event where id = $1`, r.ID()))
		if stays(m.row) || m.row == "J20" {
			continue // the state stays
		}
		line := strings.Join([]string{want.From, want.To, want.Actor, want.Code}, "|")
		switch r.Aggregate.Kind {
		case domain.KindJob:
			s.same(m.row+": accession.job_transition", []string{line},
				s.asked(`select concat_ws('|', from_status, to_status, actor, coalesce(reason_code, '')) from accession.job_transition
					where job_id = $1 and version = $2`, r.Aggregate.ID, r.Version))
		case domain.KindFile:
			s.same(m.row+": accession.file_transition", []string{line + "|" + want.Attempts},
				s.asked(`select concat_ws('|', from_status, to_status, actor, coalesce(reason_code, ''),
					'downloads=' || download_attempts || ' processes=' || processing_attempts) from accession.file_transition
					where raw_file_hash = $1 and version = $2`, r.Aggregate.ID, r.Version))
		}
	}
	slices.SortFunc(touched, func(a, b domain.Aggregate) int { return strings.Compare(a.String(), b.String()) })
	for _, a := range slices.Compact(touched) {
		switch a.Kind {
		case domain.KindBatch:
			s.batchTables(a.ID, s.batches[domain.BatchID(a.ID)])
		case domain.KindJob:
			s.jobTables(a.ID, s.jobs[domain.JobID(a.ID)])
		case domain.KindFile:
			s.fileTables(a.ID, s.file(domain.FileHash(a.ID)))
		}
	}
	s.moved = nil
}

func (s *scene) batchTables(id string, b *batchModel) {
	s.t.Helper()
	s.same(id+": accession.batch", []string{b.line()},
		s.asked(`select status || ' v' || version || ' ' || coalesce(reason_code, '') from accession.batch where id = $1`, id))
	var counts []string
	for _, column := range []string{"jobs_processing", "jobs_held", "jobs_failed", "jobs_completed", "jobs_deleted"} {
		counts = append(counts, fmt.Sprintf("%s=%d", column, b.counts[column]))
	}
	s.same(id+": its counters", []string{fmt.Sprintf("jobs_created=%d %s", b.made, strings.Join(counts, " "))},
		s.asked(`select concat_ws(' ', 'jobs_created=' || jobs_created, 'jobs_processing=' || jobs_processing, 'jobs_held=' || jobs_held,
			'jobs_failed=' || jobs_failed, 'jobs_completed=' || jobs_completed, 'jobs_deleted=' || jobs_deleted) from accession.batch where id = $1`, id))
	s.same(id+": accession.batch_report", b.reports,
		s.asked(`select concat_ws(' ', kind, status, 'ok=' || array_to_string(successful_jobs, ','), 'failed=' || array_to_string(failed_jobs, ','),
			'new=' || array_to_string(newly_successful_jobs, ','), 'left=' || array_to_string(unresolved_jobs, ','))
			from accession.batch_report where batch_id = $1 order by report`, id))
}

func (s *scene) jobTables(id string, j *jobModel) {
	s.t.Helper()
	s.same(id+": accession.job", []string{j.line()},
		s.asked(`select concat(status, ' last=', last_successful_status, ' retries=', retry_count, ' v', version, ' ', reason_code,
			case when cleaned then ' cleaned' end) from accession.job where id = $1 and priority = 5 and space_needed = $2`, id, j.size))
	s.same(id+": accession.retry", j.attempts,
		s.asked(`select concat(status, ' ', code, ' ', outcome, ' > ' || resumed_to) from accession.retry
			where kind = 'job' and job_id = $1 and attempt = number order by attempt`, id))
}

func (s *scene) fileTables(hash string, f *fileModel) {
	s.t.Helper()
	s.same(hash+": accession.file", []string{f.line()},
		s.asked(`select concat(status, ' v', version, ' downloads=', download_attempts, ' processes=', processing_attempts,
			' fetched=', (sha256 <> '')::text, ' stored=', (output_key is not null)::text,
			' begun=', coalesce(extract(epoch from download_started_at) * 1000, 0)::bigint,
			' worked=', coalesce(extract(epoch from processing_started_at) * 1000, 0)::bigint, ' ', reason_code)
			from accession.file where raw_file_hash = $1`, hash))
	s.same(hash+": accession.retry", f.failures,
		s.asked(`select concat(status, ' ', code, ' ', outcome, ' > ' || resumed_to) from accession.retry
			where kind = 'file' and raw_file_hash = $1 order by number`, hash))
}
