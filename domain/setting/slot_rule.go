package setting

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/accession-ingest/accession/domain/instant"
)

// SlotRule makes the slot of a group from the group's name: its window begins some time after
// the time that the name says, and ends some time later.
type SlotRule struct {
	// Layout is how names say a time in UTC, as package time writes layouts: 20060102 is that
	// of 20261127. It says at least the year; what it leaves out is the first month, day, hour.
	Layout string `json:"layout"`
	// OffsetSeconds is the time from what the name says to the begin of the window, which may
	// be before it.
	OffsetSeconds int64 `json:"offset_seconds,omitempty"`
	// LengthSeconds is how long the window is, with the time that late files are given.
	LengthSeconds int64 `json:"length_seconds"`
}

const (
	// maxLayout bounds a layout, in bytes.
	maxLayout = 64
	// longestWindow bounds offset and length of a window.
	longestWindow = 366 * 24 * time.Hour
	// The years in which the windows of groups are.
	firstYear, lastYear = 1000, 9998
)

// someTime is a time of which no two parts are the same.
var someTime = time.Date(2017, 11, 23, 18, 34, 56, 987_654_321, time.UTC)

// Check names every fault of the rule. r may be nil: there is none.
func (r *SlotRule) Check() error {
	if r == nil {
		return nil
	}
	longest := int64(longestWindow / time.Second)
	return errors.Join(checkLayout(r.Layout),
		faultIf(r.OffsetSeconds < -longest || r.OffsetSeconds > longest, "the window of a group begins at most %d seconds before or after the time of its name", longest),
		faultIf(r.LengthSeconds < 1 || r.LengthSeconds > longest, "the window of a group is 1 to %d seconds long", longest))
}

func faultIf(fault bool, format string, args ...any) error {
	if !fault {
		return nil
	}
	return fmt.Errorf(format, args...)
}

// checkLayout refuses what does not tell the time that a name says: it must come back from what
// it writes, up to the parts that are left out at the end.
func checkLayout(layout string) error {
	name := someTime.Format(layout)
	is, err := time.Parse(layout, name)
	of := someTime
	whole := []time.Time{
		time.Date(of.Year(), 1, 1, 0, 0, 0, 0, time.UTC), time.Date(of.Year(), of.Month(), 1, 0, 0, 0, 0, time.UTC), time.Date(of.Year(), of.Month(), of.Day(), 0, 0, 0, 0, time.UTC),
		of.Truncate(time.Hour), of.Truncate(time.Minute), of.Truncate(time.Second),
	}
	zoned := of.In(time.FixedZone("XYZ", -(3*60*60 + 17*60 + 9)))
	local := time.Date(of.Year(), of.Month(), of.Day(), of.Hour(), of.Minute(), of.Second(), of.Nanosecond(), zoned.Location())
	switch {
	case len(layout) > maxLayout:
		return fmt.Errorf("the layout of groups has at most %d bytes", maxLayout)
	case err != nil || !slices.ContainsFunc(whole, is.Equal):
		return fmt.Errorf("%q does not tell the time of a group: write the layout of 2 January 2006, 15:04:05, with its year and without gaps, as in 20060102 or 2006-01-02T15", layout)
	case local.Format(layout) != name:
		return fmt.Errorf("%q has a time zone: times of groups are in UTC; leave it out", layout)
	case CheckGroup(name) != nil:
		return fmt.Errorf("%q writes %q, which cannot be the name of a group: use printable ASCII characters without space, slash and colon", layout, name)
	}
	return nil
}

// Window returns begin and end of the window of a group. The error says why the name gives
// none, as a sentence says it after “it has no slot:”.
func (r *SlotRule) Window(group string) (opens, closes instant.Time, err error) {
	if group == "" {
		return opens, closes, errors.New("it is in no group")
	}
	at, err := time.Parse(r.Layout, group)
	if err != nil || at.Format(r.Layout) != group {
		return opens, closes, fmt.Errorf("the name of its group, %s, does not say a time as %s does", group, r.Layout)
	}
	begin := at.Add(time.Duration(r.OffsetSeconds) * time.Second)
	end := begin.Add(time.Duration(r.LengthSeconds) * time.Second)
	if begin.Year() < firstYear || end.Year() > lastYear {
		return opens, closes, fmt.Errorf("the window of its group, %s, is outside of the years %d to %d", group, firstYear, lastYear)
	}
	return instant.At(begin), instant.At(end), nil
}
