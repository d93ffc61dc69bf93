package daemon

import (
	"slices"
	"testing"

	"github.com/accession-ingest/accession/domain"
)

// Every state in which work waits has exactly one daemon.
func TestEveryWorkedStateHasOneDaemon(t *testing.T) {
	t.Parallel()
	names, jobs, batches := map[string]int{}, map[domain.JobState]int{}, map[domain.BatchState]int{}
	for _, d := range Daemons {
		names[d.Name]++
		jobs[d.Job]++
		batches[d.Batch]++
		if names[d.Name] != 1 || d.Workers < 1 {
			t.Errorf("%s stands in %d rows with %d workers", d.Name, names[d.Name], d.Workers)
		}
		if (d.batchStep == nil) != (d.Batch == "") || (d.jobStep == nil) != (d.Job == "") || (d.Job == "") == (d.Batch == "") {
			t.Errorf("%s: state and step do not fit", d.Name)
		}
	}
	for _, s := range domain.JobStates {
		want := 0
		if s.Worked() || s == domain.JobCompleted {
			want = 1
		}
		if jobs[s] != want {
			t.Errorf("%d daemons take jobs in %s, want %d", jobs[s], s, want)
		}
	}
	for _, s := range domain.BatchStates {
		want := 1
		if s.AtRest() || s == domain.BatchProcessing {
			want = 0
		}
		if batches[s] != want {
			t.Errorf("%d daemons take batches in %s, want %d", batches[s], s, want)
		}
	}
}

// A daemon ends in the rows that the tables of the rules give it, from its state.
func TestRowsAreThoseOfTheTables(t *testing.T) {
	t.Parallel()
	rows := map[string][]string{}
	from := map[string]string{}
	for _, r := range domain.BatchTransitions {
		rows[r.By] = append(rows[r.By], r.Row)
		from[r.Row] = string(r.From)
	}
	for _, r := range domain.JobTransitions {
		by := r.By
		if r.Row == "J1" {
			continue // made on the way to B3
		}
		if r.Row == "J2" {
			by = domain.DaemonJobPending // an operator may do it as well
		}
		if r.Row == domain.RowCancel {
			if r.From != domain.JobProvisioning {
				continue
			}
			by = domain.DaemonJobProvisioning
		}
		rows[by] = append(rows[by], r.Row)
		from[r.Row] = string(r.From)
	}
	rows[domain.DaemonJanitor] = append([]string{"B5"}, rows[domain.DaemonJanitor]...)
	for _, d := range Daemons {
		if !slices.Equal(d.Rows, rows[d.Name]) {
			t.Errorf("%s ends in %v, the tables say %v", d.Name, d.Rows, rows[d.Name])
		}
		for _, r := range d.Rows {
			if d.Name != domain.DaemonJanitor && from[r] != string(d.Batch)+string(d.Job) {
				t.Errorf("%s takes %s%s, and its row %s starts from %s", d.Name, d.Batch, d.Job, r, from[r])
			}
		}
		if d.Fails != "" && !slices.Contains(d.Rows, d.Fails) {
			t.Errorf("%s fails by %s, which is none of its rows", d.Name, d.Fails)
		}
	}
}
