package domain

// The event types of files.
const (
	EventFileDiscovered        EventType = "file.discovered"
	EventFileDownloadStarted   EventType = "file.download_started"
	EventFileDownloaded        EventType = "file.downloaded"
	EventFileDownloadFailed    EventType = "file.download_failed"
	EventFileIgnored           EventType = "file.ignored"
	EventFileSkipped           EventType = "file.skipped"
	EventFileReady             EventType = "file.ready"
	EventFileProcessingStarted EventType = "file.processing_started"
	EventFileProcessed         EventType = "file.processed"
	EventFileProcessingFailed  EventType = "file.processing_failed"
	EventFileAbandoned         EventType = "file.abandoned"
	EventFileReopened          EventType = "file.reopened"
)

// fileRegistry is the part of [Registry] about files.
var fileRegistry = []EventDef{
	{EventFileDiscovered, KindFile, data[FileFound], "The file became known."},
	{EventFileDownloadStarted, KindFile, data[FileStarted], "A worker began to download the file."},
	{EventFileDownloaded, KindFile, data[FileFetched], "The file is in the working directory and valid."},
	{EventFileDownloadFailed, KindFile, data[FileFailed], "A download failed, or the downloaded file is damaged."},
	{EventFileIgnored, KindFile, data[FileMoved], "The download was given up after the last attempt."},
	{EventFileSkipped, KindFile, data[FileMoved], "The file will not be processed."},
	{EventFileReady, KindFile, data[FileMoved], "The file may be processed."},
	{EventFileProcessingStarted, KindFile, data[FileStarted], "A worker began to process the file."},
	{EventFileProcessed, KindFile, data[FileDone], "The file's result is stored."},
	{EventFileProcessingFailed, KindFile, data[FileFailed], "Processing failed, or the stored result is corrupt."},
	{EventFileAbandoned, KindFile, data[FileMoved], "Processing was given up after the last attempt."},
	{EventFileReopened, KindFile, data[FileMoved], "An operator requeued the file."},
}

// FileMove is part of every file event: the state before and after it, why, what
// the file is, and the counters as they are after it. When an attempt started is
// the time at which the log took the event that started it.
type FileMove struct {
	From               FileState `json:"from"`
	To                 FileState `json:"to"`
	Reason             *Reason   `json:"reason,omitempty"`
	JobID              JobID     `json:"job_id,omitempty"`
	Collection         string    `json:"collection,omitempty"`
	Profile            string    `json:"profile,omitempty"`
	Dataset            string    `json:"dataset,omitempty"`
	Group              string    `json:"group,omitempty"`
	Host               string    `json:"host,omitempty"`    // of its URL
	Modified           Time      `json:"modified,omitzero"` // at the source
	Path               string    `json:"path"`
	Size               int64     `json:"size"` // bytes, 0 = unknown
	DownloadAttempts   int       `json:"download_attempts"`
	ProcessingAttempts int       `json:"processing_attempts"`
}

// FileMoved is the data of file events that carry nothing else.
type FileMoved struct{ FileMove }

// FileFound is the data of file.discovered.
type FileFound struct {
	FileMove
	File FileSpec `json:"file"`
}

// FileStarted is the data of file.download_started and file.processing_started.
// The event's number is the fence of the attempt.
type FileStarted struct {
	FileMove
	Worker string `json:"worker"`
}

// FileFetched is the data of file.downloaded.
type FileFetched struct {
	FileMove
	SHA256 string `json:"sha256"`
	Fence  int64  `json:"fence,omitempty"` // of the attempt, 0 = there was none
}

// FileDone is the data of file.processed.
type FileDone struct {
	FileMove
	Output *FileOutput `json:"output,omitempty"`
	Fence  int64       `json:"fence"`
}

// FileFailed is the data of file.download_failed and file.processing_failed.
type FileFailed struct {
	FileMove
	Fence      int64  `json:"fence,omitempty"`      // of the attempt, 0 = a later check failed
	Quarantine string `json:"quarantine,omitempty"` // where the damaged file was put
	Uncounted  bool   `json:"uncounted,omitempty"`  // the attempt was given back: the fault was ours
}

// MoveOfFile returns the part that every file event has.
func MoveOfFile(d EventData) (FileMove, bool) { return moveOf[FileMove](d) }

func (m *FileMove) move() *FileMove { return m }
func (*FileMove) eventData()        {}
