package app

import (
	"strings"

	"github.com/accession-ingest/accession/domain"
)

// malformed are the codes of refusals that no other moment would change: the
// question itself is wrong.
var malformed = []domain.Code{"bad_name", "bad_priority"}

// instead says, for a refusal, what could be done instead.
func instead(r *domain.Refused) string {
	commands := insteadOfState[r.Aggregate.Kind][r.State]
	if other, known := insteadOfCode[r.Code]; known {
		commands = other
	}
	return strings.ReplaceAll(commands, "ID", r.Aggregate.ID)
}

var insteadOfCode = map[domain.Code]string{
	domain.CodeCollectionHeld: "`accession collection ls` shows who set the hold and why; `accession collection release` lifts it",
	domain.CodeJobsLocked:     "`accession job ls --batch ID` shows where they are",
	"jobs_processing":         "`accession job ls --batch ID` shows where they are",
	"batch_state":             "wait until the batch is reported; `accession job show ID` names it",
	"not_reported":            "`accession batch show ID` tells how far it is",
	"no_mail_address":         "name them in the profile, under notify; `accession report batch --batch ID --format mail --from ADDRESS --to ADDRESS` makes a mail for others",
	"not_recoverable":         "`accession job delete ID` deletes it",
}

var insteadOfState = map[domain.Kind]map[string]string{
	domain.KindBatch: {
		string(domain.BatchPending):         "its jobs are being made: `accession batch show ID` tells how far it is; `accession collection hold` stops its jobs",
		string(domain.BatchHeld):            "`accession batch release ID` lets it go on, `accession batch delete ID` deletes it",
		string(domain.BatchProcessing):      "its jobs are at work: `accession batch show ID` tells how far they are",
		string(domain.BatchReporting):       "wait until its report is made",
		string(domain.BatchUpdateReporting): "wait until its report is made",
		string(domain.BatchFailed):          "`accession job requeue` sends its failed jobs back, then `accession batch update-report ID`; `accession batch delete ID` deletes it",
		string(domain.BatchCompleted):       "`accession batch cleanup ID` takes it out of the live state",
		string(domain.BatchDeleted):         "`accession batch report ID` shows what became of it",
	},
	domain.KindJob: {
		string(domain.JobPending):      "`accession job hold ID` parks it",
		string(domain.JobHeld):         "`accession job release ID` lets it go on, `accession job delete ID` deletes it",
		string(domain.JobFailed):       "`accession job requeue ID` sends it back, `accession job delete ID` deletes it",
		string(domain.JobCompleted):    "it is done; `accession job show ID` tells where its object is",
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
		string(domain.FileDownloaded):        "`accession file skip ID` leaves it out",
		string(domain.FileReady):             fileWorks,
		string(domain.FileProcessing):        fileWorks,
		string(domain.FileProcessingFailed):  fileWorks,
		string(domain.FileProcessed):         "it is done; `accession file show ID` tells where its result is",
		string(domain.FileIgnore):            fileAgain,
		string(domain.FileAbandoned):         fileAgain,
		string(domain.FileSkipped):           fileAgain,
	},
	domain.KindSetting: {
		"already on hold": "`accession collection ls` shows who set it and why",
		"not on hold":     "`accession collection ls` shows what is set",
		"already paused":  "`accession queue ls` shows who set it and why",
		"not paused":      "`accession queue ls` shows what is set",
	},
}

const (
	working   = "it is on its way: wait until it has completed or failed; `accession queue pause` stops its queue"
	fileComes = "it is on its way: `accession file show ID` tells how far; once it is DOWNLOADED, `accession file skip ID` leaves it out"
	fileWorks = "it is on its way: wait until it is PROCESSED, or ABANDONED and can be taken up again"
	fileAgain = "`accession file requeue ID` takes it up again"
)
