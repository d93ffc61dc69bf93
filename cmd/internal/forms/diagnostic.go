package forms

import (
	"cmp"
	"context"
	"encoding/xml"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/drops"
	"github.com/accession-ingest/accession/cmd/internal/app/queries"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/asked"
)

// The states of what a form has sent.
const (
	inQueue   = "queued"
	inProcess = "in_process"
	completed = "completed"
)

// unknown is the answer about what was never sent.
const unknown = xml.Header + `<doc_batch_diagnostic status="unknown_submission"><submission_id>0</submission_id><batch_id /></doc_batch_diagnostic>` + "\n"

// diagnostic says what became of a deposit or query.
type diagnostic struct {
	XMLName    xml.Name           `xml:"doc_batch_diagnostic"`
	Status     string             `xml:"status,attr"`
	Submission string             `xml:"submission_id"` // of the batch or query; before there is one, of the file
	Batch      string             `xml:"batch_id"`      // the doc_batch_id that the file names
	Records    []recordDiagnostic `xml:"record_diagnostic"`
	Counts     *recordCounts      `xml:"batch_data"`
}

// recordDiagnostic says what became of a record of a metadata file.
type recordDiagnostic struct {
	Status     string `xml:"status,attr"` // Success, Warning or Failure
	Identifier string `xml:"doi,omitempty"`
	Message    string `xml:"msg"`
}

// recordCounts counts the records of a metadata file, or the lines of a list: those that were
// found, not found, and no identifiers.
type recordCounts struct {
	All     int `xml:"record_count"`
	Success int `xml:"success_count"`
	Warning int `xml:"warning_count"`
	Failure int `xml:"failure_count"`
}

// listed is how many records a diagnostic lists, the worst first.
const listed = 1000

// statusFields are the fields of a question what became of a deposit. Clients name the
// doc_batch_id of the file as Crossref's documentation of the question does, doi_batch_id.
var statusFields = map[string]string{"usr": fieldUser, "login_id": fieldUser, "pwd": fieldPassword, "login_passwd": fieldPassword,
	"doc_batch_id": "doc_batch_id", "doi_batch_id": "doc_batch_id", "file_name": "file_name", "type": "type"}

// status answers what became of what a form has sent.
func status(e *Exchange) error {
	fields := map[string]string{}
	f := &form{fields: fields, names: statusFields}
	if err := f.query(e.R.URL.RawQuery); err != nil {
		return err
	}
	if e.R.Method == http.MethodPost {
		if err := f.encoded(e); err != nil {
			return err
		}
	}
	if err := e.signIn(fields); err != nil {
		return err
	}
	if err := e.same(fields); err != nil {
		return err
	}
	name := byBatch + fields["doc_batch_id"]
	if fields["doc_batch_id"] == "" {
		name = byFile + fields["file_name"]
	}
	kind := cmp.Or(strings.ToLower(fields["type"]), "result")
	if kind != "result" && kind != "contents" {
		return invalid("ask for result or contents", "type is %.80q", fields["type"])
	}
	if (fields["doc_batch_id"] == "") == (fields["file_name"] == "") {
		return invalid("give doc_batch_id (or doi_batch_id), or file_name", "one name of a deposit is needed")
	}
	ids, err := drops.Named(e.R.Context(), e.App, e.caller.Name, name)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if kind == "contents" {
			err = e.sendContents(id)
		} else {
			err = e.sendStatus(id, fields["doc_batch_id"])
		}
		if fault, ok := errors.AsType[*app.Error](err); !ok || fault.Kind != app.NotFound {
			return err
		}
	}
	return e.send(http.StatusOK, []byte(unknown))
}

// diagnose answers with a diagnostic.
func (e *Exchange) diagnose(code int, d *diagnostic) error {
	data, err := xml.MarshalIndent(d, "", "  ")
	if err != nil {
		return err
	}
	return e.send(code, append([]byte(xml.Header), append(data, '\n')...))
}

func (e *Exchange) send(code int, data []byte) error {
	e.W.Header().Set("Content-Type", "text/xml; charset=utf-8")
	e.W.WriteHeader(code)
	_, _ = e.W.Write(data) // the client is gone
	return nil
}

// sendStatus answers what became of one deposit or query. The error is one of kind NotFound
// if it was never accepted.
func (e *Exchange) sendStatus(id, named string) error {
	ctx := e.R.Context()
	if q, err := domain.ParseQueryID(id); err == nil {
		return e.queryStatus(ctx, q, named)
	}
	batch, err := domain.ParseBatchID(id)
	if err != nil {
		s, err := drops.Show(ctx, e.App, id, e.caller.Name)
		if err != nil {
			return err
		}
		d := &diagnostic{Status: inQueue, Submission: id, Batch: named}
		switch s.State {
		case drops.Refused:
			d.fails(s.Refused.Reason)
		case drops.Removed:
			d.fails("an operator has removed it: " + s.Deposit.FileName)
		case drops.Transferred:
			batch = s.Batch
		}
		if batch == "" {
			return e.diagnose(http.StatusOK, d)
		}
	}
	v, err := e.App.BatchReport(ctx, batch, listed)
	if fault, ok := errors.AsType[*app.Error](err); ok && fault.Kind == app.NotFound { // the tables do not have it yet
		return e.diagnose(http.StatusOK, &diagnostic{Status: inQueue, Submission: string(batch), Batch: named})
	}
	if err != nil {
		return err
	}
	return e.diagnose(http.StatusOK, diagnosticOf(v, named))
}

// fails says that the whole file came to nothing.
func (d *diagnostic) fails(why string) {
	d.Status = completed
	d.Records = append(d.Records, recordDiagnostic{Status: "Failure", Message: why})
	d.Counts = &recordCounts{All: 1, Failure: 1}
}

// diagnosticOf returns the diagnostic of a batch.
func diagnosticOf(v app.BatchReportView, named string) *diagnostic {
	d := &diagnostic{Status: inProcess, Submission: v.BatchID, Batch: named}
	switch domain.BatchState(v.Status) {
	case domain.BatchPending, domain.BatchHeld:
		d.Status = inQueue
		return d
	case domain.BatchCompleted, domain.BatchFailed, domain.BatchDeleted:
		d.Status = completed
	default:
		return d
	}
	if domain.BatchState(v.Status) == domain.BatchDeleted {
		d.fails("an operator has deleted it")
		return d
	}
	for _, j := range v.Jobs {
		if j.ReasonMessage != nil && j.Status != string(domain.JobCompleted) {
			d.Records = append(d.Records, recordDiagnostic{Status: "Failure", Message: *j.ReasonMessage})
		}
	}
	if v.ReasonMessage != nil && len(d.Records) == 0 {
		d.fails(*v.ReasonMessage)
	}
	if r := v.MetadataRecords; r != nil {
		d.Counts = &recordCounts{All: r.Success + r.Warning + r.Failure, Success: r.Success, Warning: r.Warning, Failure: r.Failure}
		for _, one := range r.Worst {
			d.Records = append(d.Records, recordDiagnostic{Status: string(one.Outcome), Identifier: one.Identifier, Message: cmp.Or(strings.Join(one.Messages, "; "), "Successfully stored")})
		}
	}
	return d
}

// queryStatus answers what became of a query.
func (e *Exchange) queryStatus(ctx context.Context, id domain.QueryID, named string) error {
	q, err := queries.Show(ctx, e.App, id, e.caller.Name)
	if err != nil {
		return err
	}
	d := &diagnostic{Status: inQueue, Submission: string(id), Batch: named}
	switch q.Status {
	case asked.Grabbed:
		d.Status = inProcess
	case asked.Answered:
		d.Status = completed
		d.Counts = &recordCounts{All: q.Request.Lines, Success: q.Answer.Found, Warning: q.Answer.NotFound, Failure: q.Answer.Wrong}
	case asked.Failed:
		d.fails(q.Reason)
	}
	return e.diagnose(http.StatusOK, d)
}

// sendContents sends the file of a deposit again.
func (e *Exchange) sendContents(id string) error {
	if _, err := domain.ParseQueryID(id); err == nil {
		return &app.Error{Kind: app.Refused, What: "send the file", Err: errors.New("it is a list, which is not sent again"), Hint: "ask for type=result"}
	}
	file, name, err := drops.Contents(e.R.Context(), e.App, id, e.caller.Name)
	if err != nil {
		return err
	}
	defer file.Close()
	return e.attach(file, name)
}

// attach sends a file that browsers save and do not show.
func (e *Exchange) attach(file io.Reader, name string) error {
	e.W.Header().Set("Content-Type", "application/octet-stream")
	e.W.Header().Set("Content-Disposition", cmp.Or(mime.FormatMediaType("attachment", map[string]string{"filename": name}), "attachment; filename*=UTF-8''"+url.PathEscape(name)))
	if _, err := io.Copy(e.W, file); err != nil {
		panic(http.ErrAbortHandler) // the client must see that it is not whole
	}
	return nil
}
