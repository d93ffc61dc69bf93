package domain

// appendFile appends the data of a file's event.
func (f *Fields) appendFile(d EventData) (known bool) {
	switch d := d.(type) {
	case *FileMoved:
		f.moveFile(&d.FileMove)
	case *FileFound:
		f.moveFile(&d.FileMove)
		f.spec(&d.File)
	case *FileStarted:
		f.moveFile(&d.FileMove)
		f.Text(`,"worker":`, d.Worker)
	case *FileFetched:
		f.moveFile(&d.FileMove)
		f.Text(`,"sha256":`, d.SHA256)
		if d.Fence != 0 {
			f.Number(`,"fence":`, d.Fence)
		}
	case *FileDone:
		f.moveFile(&d.FileMove)
		if o := d.Output; o != nil {
			f.Text(`,"output":{"key":`, o.Key)
			f.Text(`,"sha256":`, o.SHA256)
			f.Number(`,"size":`, o.Size)
			f.Raw(`}`)
		}
		f.Number(`,"fence":`, d.Fence)
	default:
		return false
	}
	return true
}

func (f *Fields) moveFile(m *FileMove) {
	f.Fancy = f.Fancy || m.Reason != nil
	f.Text(`{"from":`, string(m.From))
	f.Text(`,"to":`, string(m.To))
	f.unlessEmpty(`,"job_id":`, string(m.JobID))
	f.Text(`,"path":`, m.Path)
	f.Number(`,"size":`, m.Size)
	f.Number(`,"download_attempts":`, int64(m.DownloadAttempts))
	f.Number(`,"processing_attempts":`, int64(m.ProcessingAttempts))
}

func (f *Fields) spec(s *FileSpec) {
	f.Text(`,"file":{"source":`, s.Source)
	f.Text(`,"path":`, s.Path)
	if s.ByVersion {
		f.Raw(byVersion)
	}
	f.unlessEmpty(`,"batch_id":`, string(s.BatchID))
	f.unlessEmpty(`,"job_id":`, string(s.JobID))
	f.unlessEmpty(`,"url":`, s.URL)
	if s.Size != 0 {
		f.Number(`,"size":`, s.Size)
	}
	f.Time(`,"modified":`, s.Modified)
	f.unlessEmpty(`,"digest_algorithm":`, s.DigestAlgorithm)
	f.unlessEmpty(`,"digest_value":`, s.DigestValue)
	f.Raw(`}`)
}

func (f *Fields) unlessEmpty(name, s string) {
	if s != "" {
		f.Text(name, s)
	}
}

const byVersion = `,"by_version":true`

// file reads the data of a file's event.
func (p *parser) file(d EventData) (known bool) {
	switch d := d.(type) {
	case *FileMoved:
		p.moveFile(&d.FileMove)
	case *FileFound:
		p.moveFile(&d.FileMove)
		p.spec(&d.File)
	case *FileStarted:
		p.moveFile(&d.FileMove)
		d.Worker = p.text(`,"worker":"`)
	case *FileFetched:
		p.moveFile(&d.FileMove)
		d.SHA256, d.Fence = p.text(`,"sha256":"`), p.numberIfThere(`,"fence":`)
	case *FileDone:
		p.moveFile(&d.FileMove)
		if p.next(`,"output":{`) {
			d.Output = &FileOutput{Key: p.text(`,"output":{"key":"`), SHA256: p.text(`,"sha256":"`), Size: p.number(`,"size":`)}
			p.expect(`}`)
		}
		d.Fence = p.number(`,"fence":`)
	default:
		return false
	}
	return true
}

func (p *parser) moveFile(m *FileMove) {
	m.From, m.To = FileState(p.text(`{"from":"`)), FileState(p.text(`,"to":"`))
	m.JobID, m.Path, m.Size = JobID(p.textIfThere(`,"job_id":"`)), p.text(`,"path":"`), p.number(`,"size":`)
	m.DownloadAttempts, m.ProcessingAttempts = int(p.number(`,"download_attempts":`)), int(p.number(`,"processing_attempts":`))
}

func (p *parser) spec(s *FileSpec) {
	s.Source, s.Path = p.text(`,"file":{"source":"`), p.text(`,"path":"`)
	if s.ByVersion = p.next(byVersion); s.ByVersion {
		p.expect(byVersion)
	}
	s.BatchID, s.JobID, s.URL = BatchID(p.textIfThere(`,"batch_id":"`)), JobID(p.textIfThere(`,"job_id":"`)), p.textIfThere(`,"url":"`)
	s.Size = p.numberIfThere(`,"size":`)
	if unknown := `,"modified":null`; p.next(unknown) {
		p.expect(unknown)
	} else {
		s.Modified = p.time(`,"modified":"`)
	}
	s.DigestAlgorithm, s.DigestValue = p.textIfThere(`,"digest_algorithm":"`), p.textIfThere(`,"digest_value":"`)
	p.expect(`}`)
}
