package domain

import (
	"strconv"
	"unicode/utf8"
)

// AppendJSON appends the data of an event of a job's or a file's ordinary life as JSON:
// nearly all events are such, and each is encoded several times on its way. The bytes are
// those of encoding/json. It reports false, and what it gives is of no use, for
// other events and for texts that do not stand in JSON as they are.
func AppendJSON(b []byte, d EventData) ([]byte, bool) {
	f := Fields{JSON: b}
	switch d := d.(type) {
	case *JobMoved:
		f.move(&d.JobMove)
	case *JobEstimated:
		f.move(&d.JobMove)
		f.Number(`,"files":`, int64(d.Files))
		f.Number(`,"unknown":`, int64(d.Unknown))
		f.Number(`,"bytes":`, d.Bytes)
	case *JobDownloaded:
		f.move(&d.JobMove)
		f.Number(`,"files":`, int64(d.Files))
		f.Number(`,"bytes":`, d.Bytes)
	case *JobProcessed:
		f.move(&d.JobMove)
		f.Text(`,"object":{"primary":`, d.Object.Primary)
		f.Number(`,"version":`, int64(d.Object.Version))
		f.Text(`,"manifest_key":`, d.Object.ManifestKey)
		f.Text(`,"manifest_sha256":`, d.Object.ManifestSHA256)
		f.Number(`,"files":`, int64(d.Object.Files))
		f.Number(`,"bytes":`, d.Object.Bytes)
		f.Raw(`}`)
	case *JobDone:
		f.move(&d.JobMove)
		f.Text(`,"callback":`, d.Callback)
	case *JobDeletion:
		f.move(&d.JobMove)
		if d.WithBatch != nil {
			f.Raw(withBatch)
			f.JSON = strconv.AppendBool(f.JSON, *d.WithBatch)
		}
	default:
		if !f.appendFile(d) {
			return b, false
		}
	}
	f.Raw(`}`)
	return f.JSON, !f.Fancy
}

const withBatch = `,"with_batch":` // only when it is known

func (f *Fields) move(m *JobMove) {
	f.Fancy = f.Fancy || m.Reason != nil
	f.Text(`{"from":`, string(m.From))
	f.Text(`,"to":`, string(m.To))
	if m.LastSuccessful != "" {
		f.Text(`,"last_successful_status":`, string(m.LastSuccessful))
	}
	f.Number(`,"retry_count":`, int64(m.RetryCount))
	f.Number(`,"priority":`, int64(m.Priority))
	f.Number(`,"space_needed":`, m.SpaceNeeded)
}

// Fields is JSON under construction. Names come with what stands around them, such
// as `,"files":`.
type Fields struct {
	JSON  []byte
	Fancy bool // a text stands there that needs escapes
}

// Raw appends what is JSON already.
func (f *Fields) Raw(s string) { f.JSON = append(f.JSON, s...) }

// Number appends a number.
func (f *Fields) Number(name string, n int64) {
	f.JSON = strconv.AppendInt(append(f.JSON, name...), n, 10)
}

// Text appends a text.
func (f *Fields) Text(name, s string) {
	f.JSON = append(append(append(append(f.JSON, name...), '"'), s...), '"')
	f.Fancy = f.Fancy || !Plain(s)
}

// Time appends an instant.
func (f *Fields) Time(name string, t Time) {
	f.Raw(name)
	if t.IsZero() {
		f.Raw("null")
		return
	}
	f.JSON = append(t.AppendFormat(append(f.JSON, '"'), timeLayout), '"')
}

// Plain reports whether a text is printable ASCII that stands in JSON as it is.
func Plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			return false
		}
	}
	return true
}
