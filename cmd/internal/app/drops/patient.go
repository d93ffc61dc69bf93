package drops

import (
	"fmt"
	"io"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
)

// How long the next bytes of a file may take, and how many bytes a second it must have had
// on average once it is under way.
const (
	idleBody  = 30 * time.Second
	underWay  = time.Minute
	leastRate = 1 << 10
)

// Patient returns a body that may take long, but for a client that drips. deadline sets until
// when the next bytes must come.
func Patient(body io.Reader, deadline func(time.Time) error) io.Reader {
	return &patient{body: body, deadline: deadline, begun: time.Now()}
}

// patient is the body that [Patient] returns.
type patient struct {
	body     io.Reader
	deadline func(time.Time) error
	begun    time.Time
	read     int64
}

// Read implements io.Reader.
func (p *patient) Read(b []byte) (int, error) {
	took := time.Since(p.begun)
	if took > underWay && p.read < int64(took.Seconds())*leastRate {
		return 0, &app.Error{Kind: app.Invalid, What: "upload", Err: fmt.Errorf("the file came at less than %d bytes a second", leastRate), Hint: "send it again from a better connection"}
	}
	if err := p.deadline(time.Now().Add(idleBody)); err != nil {
		return 0, err
	}
	n, err := p.body.Read(b)
	p.read += int64(n)
	return n, err
}
