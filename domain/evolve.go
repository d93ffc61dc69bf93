package domain

// EvolveBatch applies one event to a batch. It refuses (*[Unexpected]) an event
// that is not the batch's next one, does not start from its state, or makes a
// transition that the table does not have.
func EvolveBatch(b Batch, r Recorded) (Batch, error) {
	m, ok := MoveOfBatch(r.Data)
	if !ok || !follows(r, KindBatch, string(b.ID), b.Version) || m.From != b.State || !legalBatch(r.Type, m) || r.Type == EventBatchFreed && !b.Runs() {
		return b, &Unexpected{Aggregate: r.Aggregate, Type: r.Type, Version: r.Version, Have: b.Version, From: string(m.From), State: string(b.State)}
	}
	b.ID = BatchID(r.Aggregate.ID)
	b.Version, b.State, b.Modified, b.CommandID = r.Version, m.To, r.Time, r.CommandID
	b.Ticket = b.ticketAfter(r.Type, m)
	switch d := r.Data.(type) {
	case *BatchReported:
		return b, nil // a message's delivery does not touch why the batch failed
	case *BatchSubmitted:
		b.Submission = d.Submission
	case *BatchListed:
		l := d.Listing
		b.Listing = &l
	case *BatchReport:
		rep := d.Report
		b.Report = &rep
	}
	if r.Type != EventBatchUpdateRequested && r.Type != EventBatchRepaired && r.Type != EventBatchFreed {
		b.Reason = m.Reason // else: the reason of the request is not why it failed
	}
	return b, nil
}

// EvolveJob applies one event to a job. It refuses (*[Unexpected]) an event that
// is not the job's next one, does not start from its state, or makes a transition
// that the table does not have.
func EvolveJob(j Job, r Recorded) (Job, error) {
	m, ok := MoveOfJob(r.Data)
	if !ok || !follows(r, KindJob, string(j.ID), j.Version) || m.From != j.State || !legalJob(r.Type, m) {
		return j, &Unexpected{Aggregate: r.Aggregate, Type: r.Type, Version: r.Version, Have: j.Version, From: string(m.From), State: string(j.State)}
	}
	j.ID = JobID(r.Aggregate.ID)
	j.Version, j.State, j.Modified, j.CommandID = r.Version, m.To, r.Time, r.CommandID
	j.LastSuccessful, j.RetryCount, j.Priority, j.SpaceNeeded = m.LastSuccessful, m.RetryCount, m.Priority, m.SpaceNeeded
	switch d := r.Data.(type) {
	case *JobCreated:
		j.Configuration, j.Identifiers, j.Metadata = d.Configuration, d.Identifiers, d.Metadata
	case *JobIdentified:
		j.Identifiers = d.Identifiers
	}
	if r.Type == EventJobCleaned {
		j.Cleaned = true
	}
	if r.Type != EventJobReprioritised && r.Type != EventJobRepaired {
		j.Reason = m.Reason
	}
	return j, nil
}

// EvolveFile applies one event to a file. It refuses (*[Unexpected]) an event
// that is not the file's next one, does not start from its state, or makes a
// transition that the table does not have.
func EvolveFile(f File, r Recorded) (File, error) {
	m, ok := MoveOfFile(r.Data)
	row, legal := FileRow(m.From, m.To)
	if !ok || !legal || row.Event != r.Type || !follows(r, KindFile, string(f.Hash), f.Version) || m.From != f.State {
		return f, &Unexpected{Aggregate: r.Aggregate, Type: r.Type, Version: r.Version, Have: f.Version, From: string(m.From), State: string(f.State)}
	}
	f.Hash = FileHash(r.Aggregate.ID)
	f.Version, f.State, f.Modified, f.CommandID = r.Version, m.To, r.Time, r.CommandID
	f.Size, f.DownloadAttempts, f.ProcessingAttempts, f.Reason = m.Size, m.DownloadAttempts, m.ProcessingAttempts, m.Reason
	f.Fence, f.Worker = 0, ""
	switch d := r.Data.(type) {
	case *FileFound:
		f.Spec = d.File
	case *FileStarted:
		f.Fence, f.Worker = r.Version, d.Worker
		if m.To == FileDownloading {
			f.DownloadStarted = At(r.Stored)
		} else {
			f.ProcessingStarted = At(r.Stored)
		}
	case *FileFetched:
		f.SHA256 = d.SHA256
	case *FileDone:
		f.Output = d.Output
	case *FileFailed:
		f.Failed, f.Output = At(r.Stored), nil
		if m.To == FileDownloadingFailed {
			f.SHA256 = ""
		}
	}
	return f, nil
}

// EvolveSetting applies a setting's event. It refuses (*[Unexpected]) one that is
// not the next or does not start from what the setting is.
func EvolveSetting(s Setting, r Recorded) (Setting, error) {
	switch d := r.Data.(type) {
	case *SettingRepaired:
		return maintained(s, r, d.Kind, d.Name)
	case *SettingRestored:
		return maintained(s, r, d.Kind, d.Name)
	}
	data, ok := r.Data.(*SettingChanged)
	if !ok {
		return s, &Unexpected{Aggregate: r.Aggregate, Type: r.Type, Version: r.Version, Have: s.Version}
	}
	// A hold by unknown is in no history, or was another's before it was damaged.
	unknown := data.Previous != nil && data.Previous.Hold != nil && data.Previous.Hold.By == ByUnknown && data.Hold == nil
	state := Setting{Kind: data.Kind, SettingValue: s.SettingValue}.Status() // before its first event s has no kind
	if !follows(r, KindSetting, "", s.Version) || data.From != state && !unknown {
		return s, &Unexpected{Aggregate: r.Aggregate, Type: r.Type, Version: r.Version, Have: s.Version, From: data.From, State: state}
	}
	to := Setting{Kind: data.Kind, Name: data.Name, Version: r.Version}
	if data.Value != nil {
		to.SettingValue = *data.Value
	}
	to.Hold = data.Hold // older events have no value
	return to, nil
}

// maintained applies an event that leaves what is set as it is.
func maintained(s Setting, r Recorded, kind SettingKind, name string) (Setting, error) {
	if !follows(r, KindSetting, "", s.Version) || s.Version > 0 && (kind != s.Kind || name != s.Name) {
		return s, &Unexpected{Aggregate: r.Aggregate, Type: r.Type, Version: r.Version, Have: s.Version}
	}
	s.Kind, s.Name, s.Version = kind, name, r.Version
	return s, nil
}

// follows reports whether r is the next event of the aggregate, id "" = of any.
func follows(r Recorded, kind Kind, id string, version int64) bool {
	return r.Aggregate.Kind == kind && (id == "" || r.Aggregate.ID == id) && r.Version == version+1
}

func legalBatch(t EventType, m BatchMove) bool {
	switch t {
	case EventBatchListed, EventBatchReported, EventBatchRepaired, EventBatchFreed:
		return m.From == m.To
	case EventBatchGrabbed:
		return m.From == BatchPending && m.To == BatchPending && m.Ticket != nil && m.Ticket.Turn > 0
	}
	row, ok := BatchRow(m.From, t)
	return ok && row.To == m.To
}

func legalJob(t EventType, m JobMove) bool {
	if t == EventJobIdentified || t == EventJobWaiting || t == EventJobReprioritised || t == EventJobRepaired {
		return m.From == m.To
	}
	row, ok := JobRow(m.From, m.To)
	return ok && row.Event == t
}
