package domain

// EvolveBatch applies one event to a batch. It refuses (*[Unexpected]) an event
// that is not the next one or does not start from the batch's state.
func EvolveBatch(b Batch, r Recorded) (Batch, error) {
	m, ok := MoveOfBatch(r.Data)
	if !ok || r.Version != b.Version+1 || m.From != b.State {
		return b, &Unexpected{Aggregate: r.Aggregate, Type: r.Type, Version: r.Version, Have: b.Version, From: string(m.From), State: string(b.State)}
	}
	if m.From != m.To {
		if _, legal := BatchRow(m.From, m.To); !legal {
			return b, &Unexpected{Aggregate: r.Aggregate, Type: r.Type, Version: r.Version, Have: b.Version, From: string(m.From), State: string(b.State)}
		}
	}
	b.ID = BatchID(r.Aggregate.ID)
	b.Version, b.State, b.Modified, b.CommandID = r.Version, m.To, r.Time, r.CommandID
	switch d := r.Data.(type) {
	case *BatchReported:
		return b, nil // a message's fate does not touch why the batch failed
	case *BatchSubmitted:
		b.Submission = d.Submission
	case *BatchListed:
		l := d.Listing
		b.Listing = &l
	case *BatchReport:
		rep := d.Report
		b.Report = &rep
	}
	b.Reason = m.Reason
	return b, nil
}

// EvolveJob applies one event to a job. It refuses (*[Unexpected]) an event that
// is not the next one or does not start from the job's state.
func EvolveJob(j Job, r Recorded) (Job, error) {
	m, ok := MoveOfJob(r.Data)
	legal := ok && r.Version == j.Version+1 && m.From == j.State
	if legal && m.From != m.To {
		_, legal = JobRow(m.From, m.To)
	}
	if !legal {
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
	if r.Type != EventJobReprioritised {
		j.Reason = m.Reason
	}
	return j, nil
}
