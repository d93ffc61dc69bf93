// Package setting has the values of settings: how long attempts at files may take, and what
// operators have set of the deposit queues.
package setting

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Timeouts say how long attempts at files may take before a sweep ends them, in whole
// seconds; 0 = not set, see [ChooseTimeout]. They belong to the installation, so that all
// sweeps end the same attempts.
type Timeouts struct {
	DownloadSeconds   int64 `json:"download_seconds,omitempty"`
	ProcessingSeconds int64 `json:"processing_seconds,omitempty"`
}

// MaxTimeout is the longest timeout.
const MaxTimeout = 168 * time.Hour

// Download returns how long a download may take: what is set, or else own. t may be nil.
func (t *Timeouts) Download(own time.Duration) time.Duration {
	if t == nil || t.DownloadSeconds == 0 {
		return own
	}
	return time.Duration(t.DownloadSeconds) * time.Second
}

// Processing returns how long processing may take: what is set, or else own.
func (t *Timeouts) Processing(own time.Duration) time.Duration {
	if t == nil || t.ProcessingSeconds == 0 {
		return own
	}
	return time.Duration(t.ProcessingSeconds) * time.Second
}

// Check names every fault of the timeouts.
func (t Timeouts) Check() error {
	var faults []error
	for _, one := range []struct {
		name    string
		seconds int64
	}{{"download", t.DownloadSeconds}, {"processing", t.ProcessingSeconds}} {
		if most := int64(MaxTimeout / time.Second); one.seconds < 0 || one.seconds > most {
			faults = append(faults, fmt.Errorf("the timeout of %s is %d seconds; choose from 1 to %d", one.name, one.seconds, most))
		}
	}
	return errors.Join(faults...)
}

// Over returns the timeouts that are set in t, and those of old for the others.
func (t Timeouts) Over(old *Timeouts) Timeouts {
	if old == nil {
		return t
	}
	if t.DownloadSeconds == 0 {
		t.DownloadSeconds = old.DownloadSeconds
	}
	if t.ProcessingSeconds == 0 {
		t.ProcessingSeconds = old.ProcessingSeconds
	}
	return t
}

// String says what is set, such as download=6h processing=1h30m; unset = nothing. t may be
// nil.
func (t *Timeouts) String() string {
	var parts []string
	add := func(name string, d time.Duration) {
		text := d.String() // 6h0m0s
		if strings.HasSuffix(text, "m0s") {
			text = strings.TrimSuffix(text, "0s")
		}
		if strings.HasSuffix(text, "h0m") {
			text = strings.TrimSuffix(text, "0m")
		}
		if d > 0 {
			parts = append(parts, name+"="+text)
		}
	}
	add("download", t.Download(0))
	add("processing", t.Processing(0))
	if len(parts) == 0 {
		return "unset"
	}
	return strings.Join(parts, " ")
}
