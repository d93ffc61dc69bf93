package domain

// EvolveFile applies one event to a file. It refuses (*[Unexpected]) an event
// that is not the file's next one, does not start from its state, or tells of a
// move that the table does not have.
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
