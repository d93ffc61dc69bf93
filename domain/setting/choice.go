package setting

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// What says how long an attempt may take.
const (
	SourceInstallation  = "installation"  // the setting
	SourceService       = "service"       // the processes that serve; nothing is set
	SourceConfiguration = "configuration" // of this process: nothing is set, and none serves
)

// Choice is how long an attempt may take, and what says so.
type Choice struct {
	Timeout time.Duration
	Source  string
	Served  []time.Duration // what the processes that serve have in their configurations: ascending, each value once
}

// ChooseTimeout returns the timeout of a kind of attempt: what is set, or else the longest of
// those that the processes which serve have in their configurations, or else own. 0 = not
// set, and not known of a process. The longest, so that no process ends an attempt that
// another lets run.
func ChooseTimeout(set time.Duration, served []time.Duration, own time.Duration) Choice {
	served = slices.DeleteFunc(slices.Clone(served), func(d time.Duration) bool { return d <= 0 })
	slices.Sort(served)
	served = slices.Compact(served)
	switch {
	case set > 0:
		return Choice{set, SourceInstallation, served}
	case len(served) > 0:
		return Choice{served[len(served)-1], SourceService, served}
	}
	return Choice{own, SourceConfiguration, nil}
}

// Note returns what operators should know of the choice for attempts, such as download: that
// it is the configuration of this process alone, or that processes that serve differ; "" =
// nothing.
func (c Choice) Note(attempts string) string {
	const remedy = "`accession timeouts set` sets one for all"
	switch {
	case c.Source == SourceConfiguration:
		return fmt.Sprintf("the timeout of %s is %s_timeout of this process, %v: none is set for the installation, and no process that serves tells its own; %s", attempts, attempts, c.Timeout, remedy)
	case c.Source == SourceService && len(c.Served) > 1:
		var values []string
		for _, d := range c.Served {
			values = append(values, d.String())
		}
		return fmt.Sprintf("the timeout of %s is the longest that processes have in their configurations, of %s; %s", attempts, strings.Join(values, ", "), remedy)
	}
	return ""
}
