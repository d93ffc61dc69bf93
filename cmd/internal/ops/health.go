package ops

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"
)

// Check is one thing that this process needs to do its work.
type Check struct {
	Name string
	// Ask returns nil when it is there. It may be called by several goroutines.
	Ask func(ctx context.Context) error
}

// Answer is what a check said.
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

// Health tells whether this process can do its work. It is not ready before Start
// and from Stop on, whatever the checks say.
type Health struct {
	checks []Check

	mu      sync.Mutex
	stage   string // why it is not ready without asking, "" = ask
	at      time.Time
	answers []Answer
	asking  sync.Mutex
}

// NewHealth makes the health of a process that is starting.
func NewHealth(checks ...Check) *Health { return &Health{checks: checks, stage: "starting"} }

// Start says that from now on the checks decide.
func (h *Health) Start() { h.set("") }

// Stop says that no new work is wanted here any more.
func (h *Health) Stop() { h.set("stopping") }

func (h *Health) set(stage string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stage = stage
}

// Ready asks all checks at once, unless that was done a moment ago.
func (h *Health) Ready() Readiness {
	h.mu.Lock()
	stage := h.stage
	h.mu.Unlock()
	if stage != "" {
		return Readiness{Why: stage, Checks: []Answer{}}
	}
	answers := h.recent()
	h.mu.Lock()
	defer h.mu.Unlock()
	r := Readiness{Why: h.stage, Checks: answers} // it may have stopped meanwhile
	if r.Why == "" {
		var missing []string
		for _, a := range answers {
			if !a.OK {
				missing = append(missing, a.Name)
			}
		}
		r.Why = strings.Join(missing, ", ")
	}
	r.Ready = r.Why == ""
	return r
}

// recent gives answers that are not older than a moment.
func (h *Health) recent() []Answer {
	h.asking.Lock()
	defer h.asking.Unlock()
	h.mu.Lock()
	at, answers := h.at, h.answers
	h.mu.Unlock()
	if answers != nil && time.Since(at) < time.Second {
		return answers
	}
	answers = h.ask()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.at, h.answers = time.Now(), answers
	return answers
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
