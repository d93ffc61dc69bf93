package setting

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"time"
)

// GroupDeposit makes one deposit of each complete group of a dataset. A group is complete when
// its slot is DONE, and before that as soon as all holds that is said here of its files; if
// nothing is said, it is complete with its slot only.
type GroupDeposit struct {
	Profile   string `json:"profile"` // of the collection of the dataset
	Submitter string `json:"submitter,omitempty"`
	// Each makes an object of each file; else the group is one object.
	Each bool `json:"each,omitempty"`
	// Files is how many files the group has, without its marker; 0 = any number.
	Files int `json:"files,omitempty"`
	// Marker is a glob of package path, of the name of a file that says that the group is
	// complete, and is not deposited itself; "" = there is none.
	Marker string `json:"marker,omitempty"`
	// QuietSeconds is for how long no file of the group has come or changed at its source.
	QuietSeconds int64 `json:"quiet_seconds,omitempty"`
}

// MaxGroupFiles is how many files the deposit of a group can have.
const MaxGroupFiles = 10_000

// maxSubmitter bounds the name of a submitter, in bytes.
const maxSubmitter = 256

// Check names every fault. g may be nil: there is none.
func (g *GroupDeposit) Check() error {
	if g == nil {
		return nil
	}
	_, err := path.Match(g.Marker, "")
	return errors.Join(CheckName("profile", g.Profile),
		faultIf(g.Submitter == "" || len(g.Submitter) > maxSubmitter || strings.ContainsFunc(g.Submitter, func(r rune) bool { return r < ' ' || r == 0x7f }),
			"the submitter of the deposits of groups has a name of 1 to %d bytes without control characters", maxSubmitter),
		faultIf(g.Files < 0 || g.Files > MaxGroupFiles, "a group that is deposited has at most %d files; 0 means any number", MaxGroupFiles),
		faultIf(err != nil || len(g.Marker) > maxPattern || strings.Contains(g.Marker, "/"), "the marker %q is not the name of a file: write a glob without a slash, as in *.done, and close its brackets", g.Marker),
		faultIf(g.QuietSeconds < 0 || g.QuietSeconds > int64(longestWindow/time.Second), "a group is complete when it was quiet for 0 to %d seconds", int64(longestWindow/time.Second)))
}

// Early reports whether a group may be complete before its slot is DONE.
func (g *GroupDeposit) Early() bool { return g.Files > 0 || g.Marker != "" || g.QuietSeconds > 0 }

// Matches reports whether the file with a path says that its group is complete.
func (g *GroupDeposit) Matches(file string) bool {
	is, err := path.Match(g.Marker, path.Base(file))
	return g.Marker != "" && err == nil && is
}

// Quiet is QuietSeconds as a duration.
func (g *GroupDeposit) Quiet() time.Duration { return time.Duration(g.QuietSeconds) * time.Second }

// Text says in a sentence when groups are complete.
func (g *GroupDeposit) Text() string {
	var when []string
	if g.Files > 0 {
		when = append(when, fmt.Sprintf("%d files are there", g.Files))
	}
	if g.Marker != "" {
		when = append(when, "a file "+g.Marker+" is listed")
	}
	if g.QuietSeconds > 0 {
		when = append(when, fmt.Sprintf("nothing has come for %v", g.Quiet()))
	}
	if len(when) == 0 {
		return "its slot is DONE"
	}
	return strings.Join(when, " and ") + ", or its slot is DONE"
}
