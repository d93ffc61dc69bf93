package console

import (
	"path"
	"strconv"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/ask"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/cell"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/form"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/table"
	"github.com/accession-ingest/accession/domain"
)

var fileColumns = table.Columns[app.FileRow]{Operation: "file.ls", Orders: app.FileOrders, First: "discovered_at", Uncounted: true, Title: "Files", None: "No files are here: they are found when a job is estimated, or a directory is polled. Choose fewer conditions to see others.", List: []table.Column[app.FileRow]{
	table.Col("path", "File", func(f app.FileRow) any { return cell.To(f.Path, toFile(f.ID)) }),
	table.Col("status", "State", func(f app.FileRow) any { return cell.State(f.Status) }),
	table.Col("status_since", "Since", func(f app.FileRow) any { return f.StatusSince }),
	table.Col("job_id", "Job", func(f app.FileRow) any { return linkOrNone(f.JobID, toJob) }),
	table.Col("batch_id", "Batch", func(f app.FileRow) any { return linkOrNone(f.BatchID, toBatch) }),
	table.Col("dataset", "Dataset", func(f app.FileRow) any { return f.Dataset }),
	table.Col("size", "Size", func(f app.FileRow) any { return cell.Size(max(f.Size, f.ListedSize)) }),
	table.Col("download_attempts", "Downloads", func(f app.FileRow) any { return f.DownloadAttempts }),
	table.Col("processing_attempts", "Processings", func(f app.FileRow) any { return f.ProcessingAttempts }),
	table.Col("discovered_at", "Found", func(f app.FileRow) any { return f.DiscoveredAt }),
	table.Col("reason", "Reason", func(f app.FileRow) any { return cell.ReasonOf(f.ReasonClass, f.ReasonCode, f.ReasonMessage) }),
	table.Col("id", "Hash", func(f app.FileRow) any { return f.ID }),
}}

// linkOrNone returns the link to a thing, if there is one.
func linkOrNone(id string, to func(string) string) any {
	if id == "" {
		return nil
	}
	return cell.To(id, to(id))
}

// filesOfJob are the files on the page of their job.
var filesOfJob = table.Columns[app.FileRow]{Title: "Files", None: "It has no files yet: they are found when it is estimated.",
	List: fileColumns.Without("job_id", "batch_id", "dataset", "id")}

func (*Console) files(v *visit) (page, error) {
	more := []field{{Name: "name", Label: "Text in the path"}, {Name: "batch", Label: "Batch"}, {Name: "job", Label: "Job"}, {Name: "dataset", Label: "Dataset"}, {Name: "group", Label: "Group"}}
	return listPage(v, fileColumns, "Files", "files", append(more, fieldsOfAll(texts(domain.FileStates))...)...)
}

// filePage is what the page of a file shows.
type filePage struct {
	app.FileView
	Title    string
	Life     table.Table
	Failures table.Table
	Entries  []fact
	Facts    []fact
	Why      cell.Cell
	Mend     string
	Actions  []doable
}

var fileLifeColumns = table.Columns[app.FileTransition]{Title: "Life", None: "It has no states.", List: []table.Column[app.FileTransition]{
	table.Col("to", "State", func(t app.FileTransition) any { return cell.State(t.ToStatus) }),
	table.Col("at", "From", func(t app.FileTransition) any { return t.At }),
	table.Col("seconds", "After", func(t app.FileTransition) any { return t.Seconds }),
	table.Col("actor", "By", func(t app.FileTransition) any { return t.Actor }),
	table.Col("worker", "Worker", func(t app.FileTransition) any { return t.Worker }),
	table.Col("download_attempts", "Downloads", func(t app.FileTransition) any { return t.DownloadAttempts }),
	table.Col("processing_attempts", "Processings", func(t app.FileTransition) any { return t.ProcessingAttempts }),
	table.Col("reason", "Why", func(t app.FileTransition) any { return cell.ReasonOf(t.ReasonClass, t.ReasonCode, t.ReasonMessage) }),
	table.Col("seq", "As it was", func(t app.FileTransition) any { return cell.CountTo(t.Seq, "?at="+strconv.FormatInt(t.Seq, 10)) }),
}}

func (*Console) file(v *visit) (page, error) {
	in := table.In(v)
	f, err := ask.Get[app.FileView](v, "file.show", form.Moment(v.URL.Query()), v.PathValue("id"))
	if err != nil {
		return page{}, err
	}
	d := filePage{FileView: f, Title: cell.Short(path.Base(f.Path)), Life: fileLifeColumns.In(in, "life", f.Transitions), Failures: failureColumns.In(in, "failures", f.Retries),
		Why: cell.Whole(cell.ReasonOf(f.ReasonClass, f.ReasonCode, f.ReasonMessage)), Mend: mend(f.Status, f.ReasonClass, f.ReasonCode)}
	for _, e := range f.Entries {
		d.Entries = append(d.Entries, fact{e.ID, cell.Of(cell.State(e.Status))})
	}
	digest := f.DigestValue
	if digest != "" {
		digest = f.DigestAlgorithm + ":" + digest
	}
	d.Facts = facts("Path", f.Path, "Source", f.Source, "URL", f.Url, "Job", linkOrNone(f.JobID, toJob), "Batch", linkOrNone(f.BatchID, toBatch), "Collection", f.Collection, "Dataset", f.Dataset,
		"Group", f.GroupName, "Depositor", f.Submitter, "Size", cell.Size(max(f.Size, f.ListedSize)), "Changed at its source", f.SourceModified, "Digest as deposited", digest, "SHA-256", f.Sha256,
		"Found", f.DiscoveredAt, "Worker", f.Worker, "Hash", f.ID)
	d.Actions = actionsOn(v, "files", f.ID, f.Collection, f.At)
	keepsMoment(f.At, d.Facts, d.Failures)
	return page{Name: "file", Title: d.Title, Where: "files", Moment: momentOf(f.At), Follow: followed(f.At, "file", f.ID), Data: d, Tables: in}, nil
}
