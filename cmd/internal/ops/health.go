package ops

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Check is one thing that this process needs to do its work.
type Check struct {
	Name string
	// Ask returns nil when it is there. It may be called by several goroutines.
	Ask func(ctx context.Context) error
}

// Answer is the result of a check.
type Answer struct {
	Name    string  `json:"name"`
	OK      bool    `json:"ok"`
	Error   string  `json:"error,omitempty"`
	Seconds float64 `json:"seconds"` // until the answer
}

// Readiness is the answer to /readyz.
type Readiness struct {
	Ready  bool     `json:"ready"`
	Why    string   `json:"why,omitempty"` // when it is not: starting, stopping, or the names of what is missing
	Checks []Answer `json:"checks"`
}

// Health reports whether this process can do its work. It is not ready before Start
// and from Stop on, whatever the checks say.
type Health struct {
	checks []Check
	stage  atomic.Pointer[string] // why it is not ready without asking, "" = ask

	asking  sync.Mutex
	answers []Answer
	at      time.Time
}

// NewHealth returns the health of a process that is starting.
func NewHealth(checks ...Check) *Health {
	h := &Health{checks: checks}
	h.set("starting")
	return h
}

// Start lets the checks decide from now on.
func (h *Health) Start() { h.set("") }

// Stop declares that this process takes no new work any more.
func (h *Health) Stop() { h.set("stopping") }

func (h *Health) set(stage string) { h.stage.Store(&stage) }

// Ready asks all checks at once, unless that was done a moment ago.
func (h *Health) Ready() Readiness {
	r := Readiness{Why: *h.stage.Load(), Checks: []Answer{}}
	if r.Why == "" {
		r.Checks = h.recent()
		r.Why = *h.stage.Load() // it may have stopped meanwhile
	}
	if r.Why == "" {
		var missing []string
		for _, a := range r.Checks {
			if !a.OK {
				missing = append(missing, a.Name)
			}
		}
		r.Why = strings.Join(missing, ", ")
	}
	r.Ready = r.Why == ""
	return r
}

// recent returns answers that are at most a second old.
func (h *Health) recent() []Answer {
	h.asking.Lock()
	defer h.asking.Unlock()
	if h.answers == nil || time.Since(h.at) >= time.Second {
		h.answers, h.at = h.ask(), time.Now()
	}
	return h.answers
}

func (h *Health) ask() []Answer {
	ctx, cancel := context.WithTimeout(context.Background(), askTime)
	defer cancel()
	answers := make([]Answer, len(h.checks))
	var all sync.WaitGroup
	for i, c := range h.checks {
		all.Go(func() {
			begun := time.Now()
			err := c.Ask(ctx)
			if err != nil && errors.Is(err, context.DeadlineExceeded) {
				err = errors.New("no answer within " + askTime.String())
			}
			answers[i] = Answer{Name: c.Name, OK: err == nil, Seconds: time.Since(begun).Seconds()}
			if err != nil {
				answers[i].Error = strings.Join(strings.Fields(err.Error()), " ")
			}
		})
	}
	all.Wait()
	slices.SortFunc(answers, func(a, b Answer) int { return strings.Compare(a.Name, b.Name) })
	return answers
}
