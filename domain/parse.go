package domain

import (
	"strconv"
	"time"
)

// ParseJSON reads what [AppendJSON] wrote, in its order and without spaces, into d.
// It reports false for anything else: d is then of no use, and encoding/json has to
// read it. Where both read it, they read the same.
func ParseJSON(data []byte, d EventData) bool {
	p := parser{rest: string(data), ok: true}
	switch d := d.(type) {
	case *JobMoved:
		p.move(&d.JobMove)
	case *JobEstimated:
		p.move(&d.JobMove)
		d.Files, d.Unknown, d.Bytes = int(p.number(`,"files":`)), int(p.number(`,"unknown":`)), p.number(`,"bytes":`)
	case *JobDownloaded:
		p.move(&d.JobMove)
		d.Files, d.Bytes = int(p.number(`,"files":`)), p.number(`,"bytes":`)
	case *JobProcessed:
		p.move(&d.JobMove)
		o := &d.Object
		o.Primary, o.Version = p.text(`,"object":{"primary":"`), int(p.number(`,"version":`))
		o.ManifestKey, o.ManifestSHA256 = p.text(`,"manifest_key":"`), p.text(`,"manifest_sha256":"`)
		o.Files, o.Bytes = int(p.number(`,"files":`)), p.number(`,"bytes":`)
		p.expect(`}`)
	case *JobDone:
		p.move(&d.JobMove)
		d.Callback = p.text(`,"callback":"`)
	case *JobDeletion:
		p.move(&d.JobMove)
		d.WithBatch = p.boolIfThere(withBatch)
	default:
		if !p.file(d) {
			return false
		}
	}
	p.expect(`}`)
	return p.ok && p.rest == ""
}

// parser goes through a text; once something is not as expected it stops.
type parser struct {
	rest string
	ok   bool
}

const lastSuccessful = `,"last_successful_status":"` // only when there was one

func (p *parser) move(m *JobMove) {
	m.From, m.To = JobState(p.text(`{"from":"`)), JobState(p.text(`,"to":"`))
	if p.next(lastSuccessful) {
		m.LastSuccessful = JobState(p.text(lastSuccessful))
	}
	m.RetryCount, m.Priority, m.SpaceNeeded = int(p.number(`,"retry_count":`)), int(p.number(`,"priority":`)), p.number(`,"space_needed":`)
}

func (p *parser) next(s string) bool { return len(p.rest) >= len(s) && p.rest[:len(s)] == s }

func (p *parser) expect(s string) {
	if p.ok = p.ok && p.next(s); p.ok {
		p.rest = p.rest[len(s):]
	}
}

// text reads what stands between name, which ends with the quote, and the next quote.
func (p *parser) text(name string) string {
	p.expect(name)
	n := 0
	for p.ok && n < len(p.rest) && p.rest[n] != '"' {
		n++
	}
	s := p.rest[:n]
	p.rest = p.rest[n:]
	p.ok = p.ok && Plain(s)
	p.expect(`"`)
	return s
}

// textIfThere reads what [Fields.unlessEmpty] wrote.
func (p *parser) textIfThere(name string) string {
	if !p.next(name) {
		return ""
	}
	return p.text(name)
}

// time reads an instant as [Fields.Time] wrote it, but for null.
func (p *parser) time(name string) Time {
	s := p.text(name)
	parsed, err := time.Parse(timeLayout, s)
	t := At(parsed)
	p.ok = p.ok && err == nil && t.String() == s
	return t
}

// numberIfThere reads a number that is left out when it is 0.
func (p *parser) numberIfThere(name string) int64 {
	if !p.next(name) {
		return 0
	}
	return p.number(name)
}

// boolIfThere reads true or false, where one of them stands.
func (p *parser) boolIfThere(name string) *bool {
	for _, v := range []bool{true, false} {
		if text := name + strconv.FormatBool(v); p.next(text) {
			p.expect(text)
			return &v
		}
	}
	return nil
}

// number reads an integer as [strconv] writes it.
func (p *parser) number(name string) int64 {
	p.expect(name)
	n := 0
	for p.ok && n < len(p.rest) && (p.rest[n] == '-' || '0' <= p.rest[n] && p.rest[n] <= '9') {
		n++
	}
	digits := p.rest[:n]
	v, err := strconv.ParseInt(digits, 10, 64)
	if n > 1 && (digits[0] == '0' || digits[:2] == "-0") {
		p.ok = false
	}
	p.ok = p.ok && err == nil
	p.rest = p.rest[n:]
	return v
}
