// Package hint says what an operator can do instead of what the rules refuse.
package hint

import (
	"fmt"
	"strings"

	"github.com/accession-ingest/accession/cmd/internal/fetch"
	"github.com/accession-ingest/accession/domain"
)

// Batch returns what an operator should do about a batch that rests, "" = nothing. open and
// failed count its jobs that are not done.
func Batch(id, status string, open, failed, completed int64) string {
	switch {
	case status == string(domain.BatchHeld):
		return "`accession batch release " + id + "` releases it, once its collection is not on hold"
	case status == string(domain.BatchFailed) && open+failed == 0 && completed > 0:
		return "all its jobs have completed since its report: `accession batch update-report " + id + "` reports it once more"
	default:
		return ""
	}
}

// Instead returns the hint for a refusal: what to do instead.
func Instead(r *domain.Refused) string {
	commands := insteadOfState[r.Aggregate.Kind][r.State]
	if other, known := insteadOfCode[r.Code]; known {
		commands = other
	}
	return strings.ReplaceAll(commands, "ID", r.Aggregate.ID)
}

var insteadOfCode = map[domain.Code]string{
	domain.CodeCollectionHeld: "`accession collection ls` shows who set the hold and why; `accession collection release` releases it",
	domain.CodeJobsLocked:     "`accession job ls --batch ID` shows where they are",
	"jobs_processing":         "`accession job ls --batch ID` shows where they are",
	"batch_state":             "wait until the batch is reported; `accession job show ID` names it",
	"not_reported":            "`accession batch show ID` shows how far it is",
	"no_mail_address":         "name them in the profile, under notify; `accession report batch --batch ID --format mail --from ADDRESS --to ADDRESS` makes a mail for others",
	domain.CodePoolFull:       "nothing was taken: try again in a while, or submit it without --sync, and it waits for its turn; `accession queue board` shows what runs",
	domain.CodeNotServed:      "nothing was taken: `accession queue show metadata` shows what is set; without --sync the deposit waits until it is served",
	"not_recoverable":         "`accession job delete ID` deletes it",
}

var insteadOfState = map[domain.Kind]map[string]string{
	domain.KindBatch: {
		string(domain.BatchPending):         "its jobs are being made: `accession batch show ID` shows how far it is; `accession collection hold` holds its jobs",
		string(domain.BatchHeld):            "`accession batch release ID` releases it, `accession batch delete ID` deletes it",
		string(domain.BatchProcessing):      "its jobs are being processed: `accession batch show ID` shows how far they are",
		string(domain.BatchReporting):       "wait until its report is made",
		string(domain.BatchUpdateReporting): "wait until its report is made",
		string(domain.BatchFailed):          "`accession job requeue` requeues its failed jobs, then `accession batch update-report ID`; `accession batch delete ID` deletes it",
		string(domain.BatchCompleted):       "`accession batch cleanup ID` removes it from the live state",
		string(domain.BatchDeleted):         "`accession batch report ID` shows what became of it",
	},
	domain.KindJob: {
		string(domain.JobPending):      "`accession job hold ID` holds it, `accession job fail ID` ends it",
		string(domain.JobHeld):         "`accession job release ID` releases it, `accession job delete ID` deletes it",
		string(domain.JobFailed):       "`accession job requeue ID` requeues it, `accession job delete ID` deletes it",
		string(domain.JobCompleted):    "it is done; `accession job show ID` shows where its object is",
		string(domain.JobEstimating):   working,
		string(domain.JobProvisioning): working,
		string(domain.JobDownloading):  working,
		string(domain.JobProcessing):   working,
		string(domain.JobRecording):    working,
		string(domain.JobNotify):       working,
	},
	domain.KindFile: {
		string(domain.FileDiscovered):        fileComes,
		string(domain.FileDownloading):       fileComes,
		string(domain.FileDownloadingFailed): fileComes,
		string(domain.FileDownloaded):        "`accession file skip ID` skips it",
		string(domain.FileReady):             fileWorks,
		string(domain.FileProcessing):        fileWorks,
		string(domain.FileProcessingFailed):  fileWorks,
		string(domain.FileProcessed):         "it is done; `accession file show ID` shows where its result is",
		string(domain.FileIgnore):            fileAgain,
		string(domain.FileAbandoned):         fileAgain,
		string(domain.FileSkipped):           fileAgain,
	},
	domain.KindSetting: {
		"set":             "`accession timeouts show` and `accession queue show` show what is set",
		"unset":           "`accession timeouts show` and `accession queue show` show what is set",
		"already on hold": "`accession collection ls` shows who set it and why",
		"not on hold":     "`accession collection ls` shows what is set",
		"already paused":  "`accession queue ls` shows who set it and why",
		"not paused":      "`accession queue ls` shows what is set",
	},
}

const (
	working   = "it is being processed: `accession job fail ID` ends it; `accession queue pause` pauses its queue"
	fileComes = "it is being downloaded: `accession file show ID` shows how far; once it is DOWNLOADED, `accession file skip ID` skips it"
	fileWorks = "it is being processed: wait until it is PROCESSED, or ABANDONED and can be requeued"
	fileAgain = "`accession file requeue ID` requeues it"
)

// NotReported says what a batch's report will lack once the job is gone.
func NotReported(j domain.Job, b domain.Batch) string {
	name := j.Configuration.FileName
	if name == "" {
		name = fetch.Redact(j.Configuration.PayloadURL)
	}
	fate := "was held"
	if r := j.Reason; j.State == domain.JobFailed && r != nil {
		fate = fmt.Sprintf("failed with %s: %s", r.Code, r.Message)
	}
	if b.Report != nil {
		return fmt.Sprintf("the report of %s already named it to the depositor; an update report counts it as deleted and no longer names %s (row %d), which %s",
			b.ID, name, j.Configuration.Row+1, fate)
	}
	return fmt.Sprintf("%s is not finished: its report will count this job as deleted and will not name %s (row %d), which %s", b.ID, name, j.Configuration.Row+1, fate)
}
