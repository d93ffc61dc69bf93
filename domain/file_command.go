package domain

// FileCommand asks for a change of a file.
type FileCommand interface{ fileCommand() string }

// SlotState is the state of the (dataset, group) with a time window that a file
// belongs to.
type SlotState string

// The states of a slot; a file without one counts as in an active one.
const (
	SlotNone    SlotState = ""
	SlotPending SlotState = "PENDING"
	SlotActive  SlotState = "ACTIVE"
	SlotDone    SlotState = "DONE"
	SlotMissed  SlotState = "MISSED"
)

// Commands for files. Now is the log's time, asked when the command is made; it
// is looked at where a delay or a timeout is.
type (
	// DiscoverFile makes the file known (F1).
	DiscoverFile struct{ Spec FileSpec }
	// StartDownload begins an attempt (F2, F6).
	StartDownload struct {
		Worker string
		Limits Limits
		Now    Time // for Limits.Delay
	}
	// FinishDownload ends an attempt with a valid file in its place (F4).
	FinishDownload struct {
		Fence  int64 // of the attempt: File.Fence after StartDownload
		Size   int64 // bytes
		SHA256 string
	}
	// FileAlreadyThere takes a valid copy that is in its place (F3).
	FileAlreadyThere struct {
		Size   int64
		SHA256 string
	}
	// FailDownload ends an attempt that failed, or whose worker is gone (F5, and F7
	// with it after the last attempt).
	FailDownload struct {
		Fence  int64
		Reason Reason
		Limits Limits
	}
	// FailValidation sends a damaged file back (F8, and F7 with it after the last
	// attempt).
	FailValidation struct {
		Reason     Reason
		Quarantine string // where the local file was put, "" = there was none
		Limits     Limits
	}
	// SkipFile leaves a file out (F9).
	SkipFile struct{ Reason Reason }
	// ReadyFile lets a valid file be processed (F10). A closed slot skips it (F9).
	ReadyFile struct {
		Slot    SlotState
		Missing []string // companions that are not downloaded yet
	}
	// StartProcessing begins an attempt (F11).
	StartProcessing struct{ Worker string }
	// FinishProcessing ends an attempt with a stored result (F12).
	FinishProcessing struct {
		Fence  int64
		Output *FileOutput // nil = the file itself is the result
	}
	// FailProcessing ends an attempt that failed, or whose worker is gone (F13, and
	// F15 with it after the last attempt).
	FailProcessing struct {
		Fence  int64
		Reason Reason
		Limits Limits
	}
	// AuditFailed sends back a file whose stored result is corrupt (F16, and F15
	// with it after the last attempt).
	AuditFailed struct {
		Reason Reason
		Limits Limits
	}
	// RetryProcessing lets a failed file be processed again (F14).
	RetryProcessing struct {
		Limits Limits
		Now    Time // for Limits.Delay
	}
	// RecoverFile ends an attempt that is overdue (F5 or F13), and gives up a file
	// whose attempts are used up (F7, F15): after the last attempt both at once, and
	// the second alone when the maximum was lowered. It is the sweeper's command.
	RecoverFile struct {
		Now    Time
		Limits FileLimits
	}
	// ReopenFile takes a file up again that was ignored, abandoned or skipped
	// (O1–O3).
	ReopenFile struct{ Reason Reason }
)

func (DiscoverFile) fileCommand() string     { return "discover" }
func (StartDownload) fileCommand() string    { return "start download" }
func (FinishDownload) fileCommand() string   { return "finish download" }
func (FileAlreadyThere) fileCommand() string { return "take as downloaded" }
func (FailDownload) fileCommand() string     { return "fail download" }
func (FailValidation) fileCommand() string   { return "fail validation" }
func (SkipFile) fileCommand() string         { return "skip" }
func (ReadyFile) fileCommand() string        { return "make ready" }
func (StartProcessing) fileCommand() string  { return "start processing" }
func (FinishProcessing) fileCommand() string { return "finish processing" }
func (FailProcessing) fileCommand() string   { return "fail processing" }
func (AuditFailed) fileCommand() string      { return "fail audit" }
func (RetryProcessing) fileCommand() string  { return "retry processing" }
func (RecoverFile) fileCommand() string      { return "recover" }
func (ReopenFile) fileCommand() string       { return "reopen" }
