package render

import (
	"fmt"
	"io"
	"time"
)

// stepInterval is how often progress is written where no bar is drawn.
const stepInterval = 5 * time.Second

// StepLines returns a function that writes a line for each new phase, and one now and
// then.
func StepLines(w io.Writer) func(Step) {
	var last time.Time
	var phase string
	return func(now Step) {
		if now.Doing != phase || time.Since(last) >= stepInterval {
			last, phase = time.Now(), now.Doing
			_, _ = fmt.Fprintln(w, now)
		}
	}
}
