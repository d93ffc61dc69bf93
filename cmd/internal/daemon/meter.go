package daemon

import "time"

// Meter is told how the steps of daemons end.
type Meter interface {
	Step(daemon, outcome string, took time.Duration)
}

// The outcomes of a step, as a meter is told them.
var outcomes = map[verb]string{
	verbNext: "moved", verbFail: "failed", verbWait: "waits", verbRetry: "retried", verbHandBack: "handed_back",
}

// meter tells of a step, cut when it was cut off.
func (r *Runner) meter(d Daemon, out Outcome, cut bool, took time.Duration) {
	if r.cfg.Meter == nil {
		return
	}
	word := outcomes[out.verb]
	if cut {
		word = "cut_off"
	}
	r.cfg.Meter.Step(d.Name, word, took)
}
