package domain

import (
	"errors"
	"strings"
	"time"
	"unicode/utf8"
)

// FileState is the status of a file.
type FileState string

// The states of a file. FileNone is the state before the first event.
const (
	FileNone              FileState = ""
	FileDiscovered        FileState = "DISCOVERED"
	FileDownloading       FileState = "DOWNLOADING"
	FileDownloaded        FileState = "DOWNLOADED"
	FileDownloadingFailed FileState = "DOWNLOADING_FAILED"
	FileIgnore            FileState = "IGNORE"
	FileSkipped           FileState = "SKIPPED"
	FileReady             FileState = "READY"
	FileProcessing        FileState = "PROCESSING"
	FileProcessed         FileState = "PROCESSED"
	FileProcessingFailed  FileState = "PROCESSING_FAILED"
	FileAbandoned         FileState = "ABANDONED"
)

// FileStates lists every state, in the order of the life of a file.
var FileStates = []FileState{
	FileDiscovered, FileDownloading, FileDownloaded, FileDownloadingFailed, FileIgnore, FileSkipped,
	FileReady, FileProcessing, FileProcessed, FileProcessingFailed, FileAbandoned,
}

// Terminal reports whether no worker and no timer touches a file in this state.
func (s FileState) Terminal() bool {
	return s == FileIgnore || s == FileSkipped || s == FileProcessed || s == FileAbandoned
}

// Running reports whether a worker makes an attempt in this state.
func (s FileState) Running() bool { return s == FileDownloading || s == FileProcessing }

// FileSpec is what was known of a file when it was discovered.
type FileSpec struct {
	Source string `json:"source"` // a job's id, or the URL of a listing
	Path   string `json:"path"`   // within the source; for a file of a job its name
	// ByVersion makes size and time of modification part of the identity.
	ByVersion       bool    `json:"by_version,omitempty"`
	BatchID         BatchID `json:"batch_id,omitempty"`
	JobID           JobID   `json:"job_id,omitempty"` // "" = it belongs to no job
	URL             string  `json:"url,omitempty"`
	Size            int64   `json:"size,omitempty"` // bytes, 0 = unknown
	Modified        Time    `json:"modified"`       // at the source, as its server states it, else its manifest; null = unknown
	DigestAlgorithm string  `json:"digest_algorithm,omitempty"`
	DigestValue     string  `json:"digest_value,omitempty"`
	Collection      string  `json:"collection,omitempty"`
	Profile         string  `json:"profile,omitempty"`
	Dataset         string  `json:"dataset,omitempty"`
	Group           string  `json:"group,omitempty"`
	Host            string  `json:"host,omitempty"` // of URL
}

// Hash returns the file's identity.
func (s FileSpec) Hash() FileHash {
	if s.ByVersion {
		return HashFileVersion(s.Source, s.Path, s.Size, s.Modified)
	}
	return HashFile(s.Source, s.Path)
}

// MaxFileText bounds source, path and URL of a file, in bytes.
const MaxFileText = 4096

// Check names what keeps a file from being discovered.
func (s FileSpec) Check() error {
	var faults []error
	if s.Source == "" || s.Path == "" {
		faults = append(faults, errors.New("a file needs a source and a path"))
	}
	for _, text := range []string{s.Source, s.Path, s.URL} {
		// Such text would be changed on its way to the log, and the hash would no
		// longer be that of what is written there.
		if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
			faults = append(faults, errors.New("source, path and URL of a file are UTF-8 without NUL"))
		}
		if len(text) > MaxFileText {
			faults = append(faults, errors.New("source, path and URL of a file have at most 4096 bytes each"))
		}
	}
	if s.Size < 0 {
		faults = append(faults, errors.New("a file's size is 0 (unknown) or more"))
	}
	return errors.Join(faults...)
}

// FileOutput names the result of processing a file.
type FileOutput struct {
	Key    string `json:"key"` // in the object store
	SHA256 string `json:"sha256"`
	Size   int64  `json:"size"` // bytes
}

// File is the state of a file: what folding its events gives, and what SQL shows.
type File struct {
	Hash    FileHash
	Version int64 // number of its last event, from 1
	State   FileState
	Spec    FileSpec
	Size    int64  // bytes: as listed at the discovery, then as downloaded; 0 = unknown
	SHA256  string // of the content, "" = not downloaded

	DownloadAttempts   int // started since the discovery or an operator's O1, O3, less those given back
	ProcessingAttempts int // started since the discovery or an operator's O2, less those given back
	// DownloadStarted and ProcessingStarted are the log's times of the last F2 or
	// F6 and of the last F11, Failed of the last F5, F8, F13 or F16. They are zero
	// as long as only the writer knows of the event.
	DownloadStarted, ProcessingStarted, Failed Time
	// Fence is the version of the event that started the open attempt, 0 = none is.
	// Unlike the count of attempts it never comes again.
	Fence  int64
	Worker string // the worker of the open attempt

	Output    *FileOutput
	Reason    *Reason // of the last event: why it failed, was given up, skipped or reopened
	Modified  Time    // the writer's clock
	CommandID string
}

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
// that leads to them: no reader sees a failed file with its attempts used up.
var FileTransitions = []FileTransition{
	{"F1", FileNone, FileDiscovered, EventFileDiscovered, DaemonJobEstimating + " or a listing", "it is not known yet", CountNothing, "size and digest kept as listed"},
	{"F2", FileDiscovered, FileDownloading, EventFileDownloadStarted, "download worker", "", CountDownload, "fence and download_started_at set"},
	{"F3", FileDiscovered, FileDownloaded, EventFileDownloaded, "download worker", "a valid copy is there already", CountNothing, "size and SHA-256 kept, reason already_exists"},
	{"F4", FileDownloading, FileDownloaded, EventFileDownloaded, "download worker", "validated and renamed; fence", CountNothing, "size and SHA-256 kept"},
	{"F5", FileDownloading, FileDownloadingFailed, EventFileDownloadFailed, "download worker, its successor or the sweeper", "an error, download_timeout exceeded, or the worker is gone; fence", CountNothing, "reason kept; the attempt is given back if our own servers or a stop ended it"},
	{"F6", FileDownloadingFailed, FileDownloading, EventFileDownloadStarted, "download worker", "download_attempts below the maximum; retry_delay over", CountDownload, "as F2"},
	{rowIgnore, FileDownloadingFailed, FileIgnore, EventFileIgnored, "the writer of F5 or F8", "download_attempts at the maximum", CountNothing, "given up, in the same write as F5 or F8"},
	{"F8", FileDownloaded, FileDownloadingFailed, EventFileDownloadFailed, "the reader of the file", "size, digest or format is wrong, or it cannot be read", CountNothing, "local file quarantined"},
	{"F9", FileDownloaded, FileSkipped, EventFileSkipped, "a rule or an operator", "a reason", CountNothing, "reason kept"},
	{"F10", FileDownloaded, FileReady, EventFileReady, "processing daemon", "valid; its slot is ACTIVE or it has none; prerequisites met", CountNothing, ""},
	{"F11", FileReady, FileProcessing, EventFileProcessingStarted, "processing worker", "", CountProcessing, "fence and processing_started_at set"},
	{"F12", FileProcessing, FileProcessed, EventFileProcessed, "processing worker", "the result is stored; fence", CountNothing, "key of the result kept"},
	{"F13", FileProcessing, FileProcessingFailed, EventFileProcessingFailed, "processing worker, its successor or the sweeper", "an error, processing_timeout exceeded, or the worker is gone; fence", CountNothing, "reason kept; the attempt is given back if our own servers or a stop ended it"},
	{"F14", FileProcessingFailed, FileReady, EventFileReady, "processing daemon or the sweeper", "processing_attempts below the maximum; retry_delay over", CountNothing, ""},
	{rowAbandon, FileProcessingFailed, FileAbandoned, EventFileAbandoned, "the writer of F13 or F16", "processing_attempts at the maximum", CountNothing, "given up, in the same write as F13 or F16"},
	{"F16", FileProcessed, FileProcessingFailed, EventFileProcessingFailed, "audit", "the stored result is corrupt", CountNothing, "reason kept"},
	{"O1", FileIgnore, FileDiscovered, EventFileReopened, "operator, also by J16", "a reason", ResetDownload, "actor and reason kept"},
	{"O2", FileAbandoned, FileReady, EventFileReopened, "operator, also by J17; the auditor", "a reason; of the auditor: the stored result is sound again", ResetProcessing, "actor and reason kept; of the auditor: F11 and F12 in the same write"},
	{"O3", FileSkipped, FileDownloaded, EventFileReopened, "operator", "a reason", ResetDownload, "actor and reason kept"},
}

// FileRow finds the row that leads from one state to another.
func FileRow(from, to FileState) (FileTransition, bool) {
	return rowWhere(FileTransitions, func(t FileTransition) bool { return t.From == from && t.To == to })
}

// Limits bound the attempts of one step of a file, downloading or processing.
// All durations count whole milliseconds.
type Limits struct {
	Max      int           // attempts that may be started, at least 1
	Timeout  time.Duration // an attempt is overdue when it has taken longer than this
	Delay    time.Duration // from the first failure to the next attempt, doubled after each further one; 0 = at once
	MaxDelay time.Duration // the longest delay, 0 = no bound
}

// FileLimits are the limits of both steps.
type FileLimits struct{ Download, Processing Limits }

// Check names every fault of the limits.
func (l Limits) Check() error {
	var faults []error
	if l.Max < 1 {
		faults = append(faults, errors.New("the maximum of attempts is at least 1"))
	}
	if l.Timeout < 0 || l.Delay < 0 || l.MaxDelay < 0 {
		faults = append(faults, errors.New("timeouts and delays are not negative"))
	}
	return errors.Join(faults...)
}

// Exhausted reports whether no attempt is left after a number of attempts.
func (l Limits) Exhausted(attempts int) bool { return attempts >= l.Max }

// Wait returns the time from the failure of an attempt, counted from 1, to the
// next.
func (l Limits) Wait(attempt int) time.Duration {
	wait := l.Delay
	for n := 1; n < attempt && wait > 0 && wait < longest; n++ {
		wait *= 2
	}
	if l.MaxDelay > 0 {
		wait = min(wait, l.MaxDelay)
	}
	return wait
}

// longest keeps doubling from running over.
const longest = 365 * 24 * time.Hour

// Overdue reports whether an attempt has taken longer than the timeout. Both
// times are the log's, which rounds both down: it is never early.
func (l Limits) Overdue(started, now Time) bool { return now.Sub(started.Time) > l.Timeout }
