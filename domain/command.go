package domain

// BatchCommand asks for a change of a batch.
type BatchCommand interface{ batchCommand() string }

// JobCommand asks for a change of a job.
type JobCommand interface{ jobCommand() string }

// Commands for batches.
type (
	// SubmitBatch makes the batch (B1). A synchronous one waits in no deposit queue.
	SubmitBatch struct {
		Submission  Submission
		Synchronous bool
	}
	// GrabBatch takes the batch out of its deposit queue, so that it runs.
	GrabBatch struct {
		Ticket    Ticket // with the turn
		Ring      RingPosition
		Rule      string
		Processor string
	}
	// HoldBatch holds a pending batch whose collection is on hold (B2).
	HoldBatch struct{ Reason Reason }
	// ParkBatch takes a waiting batch out of its deposit queue until it is released (B2).
	ParkBatch struct {
		Reason Reason
		Ring   RingPosition
	}
	// FreeBatch ends that a batch counts as running; it goes on outside its deposit queue.
	FreeBatch struct{ Reason Reason }
	// ListBatch settles the number of jobs and reserves their ids. Warnings say what of
	// the manifest was not taken as it is written.
	ListBatch struct {
		Listing         Listing
		Warnings        []string
		MetadataRecords *MetadataRecords // of a metadata deposit
	}
	// StartBatch ends the making of jobs (B3); Problem is a manifest error. Mailed is the
	// delivery of the mail about it, nil = none was sent.
	StartBatch struct {
		Problem *Reason
		Mailed  *NoteDelivery
	}
	// ReleaseBatch releases a held batch (B4).
	ReleaseBatch struct{ Reason *Reason }
	// UnparkBatch lets a parked batch wait again, at the front of its user (B4).
	UnparkBatch struct{ Reason Reason }
	// BeginReport moves on a batch without processing jobs (B5).
	BeginReport struct{}
	// FinishReport ends a report (B6, B7, B9, B10). Mailed is the delivery of the mail about
	// it, nil = none was sent; it is noted with the move or not at all.
	FinishReport struct {
		Report Report
		Mailed *NoteDelivery
	}
	// RequestUpdate asks for a second report (B8).
	RequestUpdate struct{ Reason *Reason }
	// DeleteBatch deletes a failed or held batch (B11, B12).
	DeleteBatch struct{ Reason *Reason }
	// CleanBatch deletes a completed batch (B13) or a failed one (B14) after its retention
	// time; a completed one also on request, for the reason Why.
	CleanBatch struct{ Why string }
	// NoteDelivery records the delivery of a message about the batch.
	NoteDelivery struct {
		Channel, About, Delivery string
		Delivered                bool
		Reason                   *Reason
	}
)

// Commands for jobs.
type (
	// CreateJob makes the job (J1).
	CreateJob struct {
		Configuration Configuration
		Identifiers   Identifiers
		Metadata      Metadata
		Priority      int
		SpaceNeeded   int64
	}
	// HoldJob holds a pending job (J2).
	HoldJob struct{ Reason Reason }
	// ReleaseJob releases a held job (J3).
	ReleaseJob struct{ Reason *Reason }
	// AcceptJob finds the payload good (J4).
	AcceptJob struct {
		Warnings []string // what of its manifest was not taken as it is written
	}
	// EstimateJob ends estimating (J6).
	EstimateJob struct {
		Files, Unknown int
		Bytes, Space   int64 // of the files, and of working space if that is more
		Priority       int
	}
	// ProvisionJob promises working space (J7).
	ProvisionJob struct{}
	// DownloadJob ends downloading (J8).
	DownloadJob struct {
		Files        int
		Bytes, Space int64 // as those of EstimateJob
		Priority     int
	}
	// ProcessJob ends processing (J10).
	ProcessJob struct{ Object StoredObject }
	// RecordJob ends recording (J12).
	RecordJob struct{}
	// CompleteJob ends the job (J14).
	CompleteJob struct {
		Callback string
		Object   *StoredObject // nil = not known
	}
	// FailJob stops the job in the state it is in (J5, J9, J11, J13, J15).
	FailJob struct {
		Reason Reason
		Object *StoredObject // stored before it failed, nil = not known
	}
	// CancelJob ends a job that has neither completed nor failed (J24), even if a worker
	// has it locked: the next write of that worker is refused.
	CancelJob struct{ Reason Reason }
	// RequeueJob sends a failed job back to work (J16–J19, J25).
	RequeueJob struct{ Reason *Reason }
	// CleanJob takes a completed job out of its queue (J20).
	CleanJob struct{}
	// DeleteJob deletes a failed or held job (J21, J22).
	DeleteJob struct{ Reason *Reason }
	// DeleteJobWithBatch deletes a job of a deleted batch (J23).
	DeleteJobWithBatch struct{}
	// IdentifyJob keeps the object's identifier at once, before it is used.
	IdentifyJob struct {
		Identifiers Identifiers
		Minted      bool
	}
	// WaitJob records, once, why a job waits.
	WaitJob struct {
		Reason   Reason
		WaitsFor JobID // see [JobWaiting]
	}
	// ReprioritiseJob changes a job's priority.
	ReprioritiseJob struct {
		Priority int
		Reason   *Reason
	}
)

func (SubmitBatch) batchCommand() string   { return "submit" }
func (GrabBatch) batchCommand() string     { return "grab" }
func (HoldBatch) batchCommand() string     { return "hold" }
func (ParkBatch) batchCommand() string     { return "park" }
func (FreeBatch) batchCommand() string     { return "free" }
func (ListBatch) batchCommand() string     { return "list" }
func (StartBatch) batchCommand() string    { return "start" }
func (ReleaseBatch) batchCommand() string  { return "release" }
func (UnparkBatch) batchCommand() string   { return "unpark" }
func (BeginReport) batchCommand() string   { return "begin report" }
func (FinishReport) batchCommand() string  { return "finish report" }
func (RequestUpdate) batchCommand() string { return "update-report" }
func (DeleteBatch) batchCommand() string   { return "delete" }
func (CleanBatch) batchCommand() string    { return "clean up" }
func (NoteDelivery) batchCommand() string  { return "note delivery" }

func (CreateJob) jobCommand() string          { return "create" }
func (HoldJob) jobCommand() string            { return "hold" }
func (ReleaseJob) jobCommand() string         { return "release" }
func (AcceptJob) jobCommand() string          { return "accept" }
func (EstimateJob) jobCommand() string        { return "estimate" }
func (ProvisionJob) jobCommand() string       { return "provision" }
func (DownloadJob) jobCommand() string        { return "download" }
func (ProcessJob) jobCommand() string         { return "process" }
func (RecordJob) jobCommand() string          { return "record" }
func (CompleteJob) jobCommand() string        { return "complete" }
func (FailJob) jobCommand() string            { return "fail" }
func (CancelJob) jobCommand() string          { return "fail" }
func (RequeueJob) jobCommand() string         { return "requeue" }
func (CleanJob) jobCommand() string           { return "clean up" }
func (DeleteJob) jobCommand() string          { return "delete" }
func (DeleteJobWithBatch) jobCommand() string { return "delete with its batch" }
func (IdentifyJob) jobCommand() string        { return "identify" }
func (WaitJob) jobCommand() string            { return "wait" }
func (ReprioritiseJob) jobCommand() string    { return "reprioritise" }

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
	// FinishDownload ends an attempt with a valid file (F4).
	FinishDownload struct {
		Fence  int64 // of the attempt: File.Fence after StartDownload
		Size   int64 // bytes
		SHA256 string
	}
	// FileAlreadyThere takes a valid copy that is there (F3).
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
		// Uncounted attempts are given back: the file's own source was not the cause.
		Uncounted bool
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
	FailProcessing FailDownload
	// AbandonFile ends a ready file as abandoned (F11, F13 and F15); the attempt does not count.
	AbandonFile struct{ Reason Reason }
	// FailOutput abandons a file whose stored result is corrupt after its job has ended
	// (F16 and F15), whatever its attempts.
	FailOutput struct{ Reason Reason }
	// RestoreOutput takes a file back that was abandoned because its stored result was
	// corrupt (O2, F11 and F12): a sound copy is in the store again.
	RestoreOutput struct {
		Worker string
		Key    string // of the result
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
func (AbandonFile) fileCommand() string      { return "abandon" }
func (FailOutput) fileCommand() string       { return "give up corrupt result" }
func (RestoreOutput) fileCommand() string    { return "take back sound result" }
func (AuditFailed) fileCommand() string      { return "fail audit" }
func (RetryProcessing) fileCommand() string  { return "retry processing" }
func (RecoverFile) fileCommand() string      { return "recover" }
func (ReopenFile) fileCommand() string       { return "reopen" }

// RepairBatch and RepairJob repair the nodes of a batch or a job.
type (
	// RepairBatch makes a batch's nodes the expected ones.
	RepairBatch struct{ Repaired []Repaired }
	// RepairJob makes a job's nodes the expected ones.
	RepairJob struct{ Repaired []Repaired }
)

func (RepairBatch) batchCommand() string { return "repair" }
func (RepairJob) jobCommand() string     { return "repair" }
