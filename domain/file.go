package domain

import (
	"errors"
	"strings"
	"unicode/utf8"
)

// FileState is the status of a file.
type FileState string

// The states of a file. FileNone stands before the first.
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
	Modified        Time    `json:"modified"`       // at the source, null = unknown
	DigestAlgorithm string  `json:"digest_algorithm,omitempty"`
	DigestValue     string  `json:"digest_value,omitempty"`
}

// Hash gives the file's identity.
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
		// Such text would be mended on its way to the log, and the hash would no
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

// FileOutput says where the result of processing a file lies.
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
	Size    int64  // bytes: as told at the discovery, then as downloaded; 0 = unknown
	SHA256  string // of the content, "" = not downloaded

	DownloadAttempts   int // started since the discovery or an operator's O1, O3
	ProcessingAttempts int // started since the discovery or an operator's O2
	// DownloadStarted and ProcessingStarted are the log's times of the last F2 or
	// F6 and of the last F11, Failed of the last F5, F8, F13 or F16. They are zero
	// as long as only the writer knows of the event.
	DownloadStarted, ProcessingStarted, Failed Time
	// Fence is the version of the event that started the attempt under way, 0 =
	// none is. Unlike the count of attempts it never comes again.
	Fence  int64
	Worker string // who makes the attempt under way

	Output    *FileOutput
	Reason    *Reason // of the last event: why it failed, was given up, skipped or reopened
	Modified  Time    // the writer's clock
	CommandID string
}
