package e2e

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/internal/testkit/mailread"
)

// refusedJob is how a deposit of one object ends that is refused: its reason, and the files of the
// job, each as path, state and reason.
type refusedJob struct {
	class domain.Class
	code  domain.Code
	acts  domain.Acting
	says  string // the whole sentence that the depositor reads
	files []string
}

// refused checks the whole outcome of a deposit of one object that is refused: the batch, its job,
// the files, the report, the mail, and that nothing is stored, recorded or named.
func (in *installation) refused(name string, id domain.BatchID, want refusedJob) {
	in.t.Helper()
	v := in.rest(id)
	if len(v.Jobs) != 1 || len(v.ReportsMade) != 1 || v.RowsListed == nil {
		in.t.Errorf("%s: %+v", name, v)
		return
	}
	if v.Status != string(domain.BatchFailed) || *v.RowsListed != 1 || v.JobsFailed != 1 || v.JobsCompleted != 0 || v.ReasonCode != nil {
		in.t.Errorf("%s: it adds up to %+v", name, v.BatchSummary)
	}
	j := v.Jobs[0]
	if j.Status != string(domain.JobFailed) || j.PrimaryIdentifier != "" || j.ManifestKey != nil || j.ObjectVersion != nil {
		in.t.Errorf("%s: its job is %+v", name, j)
	}
	got := refusedJob{domain.Class(deref(j.ReasonClass)), domain.Code(deref(j.ReasonCode)), domain.Acting(deref(j.ReasonWhoActs)), deref(j.ReasonMessage), in.filesOf(j.ID)}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(refusedJob{})); diff != "" {
		in.t.Errorf("%s (-want +got):\n%s", name, diff)
	}
	at, err := url.Parse(j.PayloadUrl)
	in.must(err)
	n := 0
	for row := range in.rows(id, "batch", "causes") {
		n++
		if row["code"] != string(want.code) || row["host"] != at.Host || row["who_acts"] != string(want.acts) || row["message"] != want.says || row["example"] != j.ID || row["what_to_do"] == "" {
			in.t.Errorf("%s: the report has the cause %v", name, row)
		}
	}
	mails := in.letters(id)
	if n != 1 || len(mails) != 1 {
		in.t.Errorf("%s: %d causes are in the report, and %d mails are sent", name, n, len(mails))
		return
	}
	if list := fmt.Sprintf("\n\nFailed\n  %s  %s\n    %s: %s\n\n", j.ID, j.ErcWhat, want.code, want.says); !strings.Contains(mails[0].Text, list) {
		in.t.Errorf("%s: the mail does not say %q:\n%s", name, list, mails[0].Text)
	}
	table := in.jobsByMail(id, mails[0])
	if len(table) != 1 || table[0]["job_id"] != j.ID || table[0]["state"] != string(domain.JobFailed) || table[0]["reason_code"] != string(want.code) || table[0]["reason_message"] != want.says || table[0]["who_acts"] != string(want.acts) {
		in.t.Errorf("%s: to the mail the table %v is attached", name, table)
	}
	in.reported(id, mails[0].Text)
	for _, table := range []string{"object_version", "identifier"} {
		if n := in.count("select count(*) from record."+table+" where job_id = $1", j.ID); n != 0 {
			in.t.Errorf("%s: it has left %d rows of %s", name, n, table)
		}
	}
}

// jobsByMail returns the rows of the table that is attached to the mail of a report.
func (in *installation) jobsByMail(id domain.BatchID, m mailread.Mail) (all []map[string]string) {
	in.t.Helper()
	rows, err := csv.NewReader(bytes.NewReader(m.Files[string(id)+"-report.csv"])).ReadAll()
	in.must(err)
	for i, row := range rows {
		if i == 0 {
			continue
		}
		cells := map[string]string{}
		for k, cell := range row {
			cells[rows[0][k]] = cell
		}
		all = append(all, cells)
	}
	return all
}

// givenUp is a file of filesOf whose attempts are used up.
func givenUp(path string, attempts int, says string) string {
	return fmt.Sprintf("%s IGNORE attempts_used_up: given up after %d of %[2]d attempts: %[3]s", path, attempts, says)
}

// filesOf returns the files of a job by their paths, each with its state and reason.
func (in *installation) filesOf(job string) (all []string) {
	in.t.Helper()
	rows, err := in.db.Query(in.ctx(), "select path, status, coalesce(reason_code, ''), coalesce(reason_message, '') from accession.file where job_id = $1", job)
	in.must(err)
	defer rows.Close()
	for rows.Next() {
		var path, status, code, message string
		in.must(rows.Scan(&path, &status, &code, &message))
		all = append(all, fmt.Sprintf("%s %s %s: %s", path, status, code, message))
	}
	in.must(rows.Err())
	slices.Sort(all)
	return all
}
