package domain

// FileCount says what a row of the file table does to the attempts.
type FileCount string

// What a row does to the attempts; an attempt counts when it starts.
const (
	CountNothing    FileCount = ""
	CountDownload   FileCount = "download_attempts +1"
	CountProcessing FileCount = "processing_attempts +1"
	ResetDownload   FileCount = "download_attempts 0"
	ResetProcessing FileCount = "processing_attempts 0"
)

// FileTransition is one row of the file table.
type FileTransition struct {
	Row      string
	From, To FileState
	Event    EventType
	By       string
	Guard    string
	Count    FileCount
	Effect   string
}

// The two ways out of an attempt that was the last one, both in the same write.
const (
	rowIgnore  = "F7"
	rowAbandon = "F15"
)

// FileTransitions are all changes of a file's state; nothing else is legal. No
// two rows have the same states, and F7 and F15 are written together with the row
// that leads to them: nobody ever sees a failed file with its attempts used up.
var FileTransitions = []FileTransition{
	{"F1", FileNone, FileDiscovered, EventFileDiscovered, DaemonJobEstimating + " or a listing", "it is not known yet", CountNothing, "size and digest kept as told"},
	{"F2", FileDiscovered, FileDownloading, EventFileDownloadStarted, "download worker", "", CountDownload, "fence and download_started_at set"},
	{"F3", FileDiscovered, FileDownloaded, EventFileDownloaded, "download worker", "a valid copy is there already", CountNothing, "size and SHA-256 kept, reason already_exists"},
	{"F4", FileDownloading, FileDownloaded, EventFileDownloaded, "download worker", "validated and renamed; fence", CountNothing, "size and SHA-256 kept"},
	{"F5", FileDownloading, FileDownloadingFailed, EventFileDownloadFailed, "download worker, its successor or the sweeper", "an error, download_timeout exceeded, or the worker is gone; fence", CountNothing, "reason kept"},
	{"F6", FileDownloadingFailed, FileDownloading, EventFileDownloadStarted, "download worker", "download_attempts below the maximum; retry_delay over", CountDownload, "as F2"},
	{rowIgnore, FileDownloadingFailed, FileIgnore, EventFileIgnored, "whoever writes F5 or F8", "download_attempts at the maximum", CountNothing, "given up, in the same write as F5 or F8"},
	{"F8", FileDownloaded, FileDownloadingFailed, EventFileDownloadFailed, "whoever reads the file", "size, digest or format is wrong, or it cannot be read", CountNothing, "local file quarantined"},
	{"F9", FileDownloaded, FileSkipped, EventFileSkipped, "a rule or an operator", "a reason", CountNothing, "reason kept"},
	{"F10", FileDownloaded, FileReady, EventFileReady, "processing daemon", "valid; its slot is ACTIVE or it has none; prerequisites met", CountNothing, ""},
	{"F11", FileReady, FileProcessing, EventFileProcessingStarted, "processing worker", "", CountProcessing, "fence and processing_started_at set"},
	{"F12", FileProcessing, FileProcessed, EventFileProcessed, "processing worker", "the result is stored; fence", CountNothing, "place of the result kept"},
	{"F13", FileProcessing, FileProcessingFailed, EventFileProcessingFailed, "processing worker, its successor or the sweeper", "an error, processing_timeout exceeded, or the worker is gone; fence", CountNothing, "reason kept"},
	{"F14", FileProcessingFailed, FileReady, EventFileReady, "processing daemon or the sweeper", "processing_attempts below the maximum; retry_delay over", CountNothing, ""},
	{rowAbandon, FileProcessingFailed, FileAbandoned, EventFileAbandoned, "whoever writes F13 or F16", "processing_attempts at the maximum", CountNothing, "given up, in the same write as F13 or F16"},
	{"F16", FileProcessed, FileProcessingFailed, EventFileProcessingFailed, "audit", "the stored result is corrupt", CountNothing, "reason kept"},
	{"O1", FileIgnore, FileDiscovered, EventFileReopened, "operator, also by J16", "a reason", ResetDownload, "actor and reason kept"},
	{"O2", FileAbandoned, FileReady, EventFileReopened, "operator, also by J17", "a reason", ResetProcessing, "actor and reason kept"},
	{"O3", FileSkipped, FileDownloaded, EventFileReopened, "operator", "a reason", ResetDownload, "actor and reason kept"},
}

// FileRow finds the row that leads from one state to another.
func FileRow(from, to FileState) (FileTransition, bool) {
	for _, t := range FileTransitions {
		if t.From == from && t.To == to {
			return t, true
		}
	}
	return FileTransition{}, false
}
