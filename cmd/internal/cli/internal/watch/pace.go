package watch

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// linesEvery is how long lines are apart at least.
const linesEvery = time.Second

// pace writes at most one line in a time, the newest, with the first of the remarks that
// came meanwhile. What is left at the end is written then.
type pace struct {
	w     io.Writer
	every time.Duration

	mu      sync.Mutex
	written time.Time   // of the last line
	later   *time.Timer // of a line that waits, nil = none waits
	line    string
	remark  string
	more    int // remarks that are left out
}

// show writes a line and its remark, or lets them wait.
func (p *pace) show(line, remark string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch p.line = line; {
	case remark == "":
	case p.remark == "":
		p.remark = remark
	default:
		p.more++
	}
	if p.later != nil {
		return
	}
	if wait := p.every - time.Since(p.written); wait > 0 {
		p.later = time.AfterFunc(wait, p.flush)
		return
	}
	p.write()
}

// flush writes what waits.
func (p *pace) flush() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.later != nil {
		p.later.Stop()
		p.later = nil
	}
	if p.line != "" {
		p.write()
	}
}

func (p *pace) write() {
	fmt.Fprint(p.w, p.line, p.remark)
	if p.more > 0 {
		fmt.Fprintf(p.w, " (and %d more)", p.more)
	}
	fmt.Fprintln(p.w)
	p.line, p.remark, p.more, p.written = "", "", 0, time.Now()
}
