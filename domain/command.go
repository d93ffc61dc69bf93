package domain

// BatchCommand asks for a change of a batch.
type BatchCommand interface{ batchCommand() string }

// JobCommand asks for a change of a job.
type JobCommand interface{ jobCommand() string }

// Commands for batches.
type (
	// SubmitBatch makes the batch (B1).
	SubmitBatch struct{ Submission Submission }
	// HoldBatch parks a pending batch whose collection is on hold (B2).
	HoldBatch struct{ Reason Reason }
	// ListBatch settles the number of jobs and reserves their ids.
	ListBatch struct{ Listing Listing }
	// StartBatch ends the making of jobs (B3); Problem is a manifest error. Told is the
	// fate of the mail that says so, nil = none was sent.
	StartBatch struct {
		Problem *Reason
		Told    *NoteDelivery
	}
	// ReleaseBatch lets a held batch go on (B4).
	ReleaseBatch struct{ Reason *Reason }
	// BeginReport moves on a batch without processing jobs (B5).
	BeginReport struct{}
	// FinishReport ends a report (B6, B7, B9, B10). Told is the fate of the mail about
	// it, nil = none was sent; it is noted with the move or not at all.
	FinishReport struct {
		Report Report
		Told   *NoteDelivery
	}
	// RequestUpdate asks for a second report (B8).
	RequestUpdate struct{ Reason *Reason }
	// DeleteBatch deletes a failed or held batch (B11, B12).
	DeleteBatch struct{ Reason *Reason }
	// CleanBatch deletes a completed batch (B13): after its retention time, or
	// because somebody asked for it and said Why.
	CleanBatch struct{ Why string }
	// NoteDelivery records the fate of a message about the batch.
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
	// HoldJob parks a pending job (J2).
	HoldJob struct{ Reason Reason }
	// ReleaseJob lets a held job go on (J3).
	ReleaseJob struct{ Reason *Reason }
	// AcceptJob finds the payload good (J4).
	AcceptJob struct{}
	// EstimateJob ends estimating (J6).
	EstimateJob struct {
		Files, Unknown int
		Bytes          int64
		Priority       int
	}
	// ProvisionJob promises working space (J7).
	ProvisionJob struct{}
	// DownloadJob ends downloading (J8).
	DownloadJob struct {
		Files    int
		Bytes    int64
		Priority int
	}
	// ProcessJob ends processing (J10).
	ProcessJob struct{ Object StoredObject }
	// RecordJob ends recording (J12).
	RecordJob struct{}
	// CompleteJob ends the job (J14).
	CompleteJob struct{ Callback string }
	// FailJob stops the job in the state it is in (J5, J9, J11, J13, J15).
	FailJob struct{ Reason Reason }
	// RequeueJob sends a failed job back to work (J16–J19).
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
	// WaitJob tells, once, why a job waits.
	WaitJob struct{ Reason Reason }
	// ReprioritiseJob changes a job's priority.
	ReprioritiseJob struct {
		Priority int
		Reason   *Reason
	}
)

func (SubmitBatch) batchCommand() string   { return "submit" }
func (HoldBatch) batchCommand() string     { return "hold" }
func (ListBatch) batchCommand() string     { return "list" }
func (StartBatch) batchCommand() string    { return "start" }
func (ReleaseBatch) batchCommand() string  { return "release" }
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
func (RequeueJob) jobCommand() string         { return "requeue" }
func (CleanJob) jobCommand() string           { return "clean up" }
func (DeleteJob) jobCommand() string          { return "delete" }
func (DeleteJobWithBatch) jobCommand() string { return "delete with its batch" }
func (IdentifyJob) jobCommand() string        { return "identify" }
func (WaitJob) jobCommand() string            { return "wait" }
func (ReprioritiseJob) jobCommand() string    { return "reprioritise" }
