package setting_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/accession-ingest/accession/domain/setting"
)

// night is from six in the evening to nine in the morning.
var night = setting.SlotRule{Layout: "20060102", OffsetSeconds: 18 * 60 * 60, LengthSeconds: 15 * 60 * 60}

// TestSlotRules: a layout that would not tell the time of a group is refused.
func TestSlotRules(t *testing.T) {
	t.Parallel()
	const year = 366 * 24 * 60 * 60
	for _, c := range []struct {
		layout         string
		offset, length int64
		says           string // "" = it is one
	}{
		{"20060102", 64_800, 54_000, ""},
		{"2006-01-02", 0, 1, ""},
		{"2006-002", 0, 1, ""}, // day of the year
		{"060102", -year, year, ""},
		{"n2006Jan02.150405x", 0, 1, ""},
		{"2006", 0, 1, ""},
		{"200601", 0, 1, ""},
		{"20060102T15", 0, 1, ""},
		{"", 0, 1, "does not tell the time"},
		{"night", 0, 1, "does not tell the time"},
		{"0102", 0, 1, "does not tell the time"},               // no year
		{"20060203", 0, 1, "does not tell the time"},           // day and hour, no month
		{"2006010203", 0, 1, "does not tell the time"},         // twelve hours and no half of the day
		{"2006010204", 0, 1, "does not tell the time"},         // minutes and no hour
		{"20060102150405.000", 0, 1, "does not tell the time"}, // slots have whole seconds
		{"2006-01-02 15", 0, 1, "cannot be the name"},
		{"2006/01/02", 0, 1, "cannot be the name"},
		{"2006-01-02T15:04", 0, 1, "cannot be the name"},
		{"20060102MST", 0, 1, "time zone"},
		{"20060102-0700", 0, 1, "time zone"},
		{"20060102Z0700", 0, 1, "time zone"},
		{"20060102" + strings.Repeat("x", 57), 0, 1, "at most 64"},
		{"20060102", year + 1, 1, "begins at most"},
		{"20060102", -year - 1, 1, "begins at most"},
		{"20060102", 0, 0, "1 to"},
		{"20060102", 0, year + 1, "1 to"},
		{"20060102", -1 << 63, -1 << 63, "begins at most"},
	} {
		says(t, (&setting.SlotRule{Layout: c.layout, OffsetSeconds: c.offset, LengthSeconds: c.length}).Check(), c.says)
	}
	says(t, (*setting.SlotRule)(nil).Check(), "")
	says(t, (&setting.Rules{Slots: &setting.SlotRule{}}).Check(), "does not tell the time")
}

// TestWindows: the name of a group gives its window, or the reason why it gives none.
func TestWindows(t *testing.T) {
	t.Parallel()
	hourly := setting.SlotRule{Layout: "2006-01-02T15", OffsetSeconds: -60, LengthSeconds: 3720}
	for _, c := range []struct {
		of          setting.SlotRule
		group, want string // from/to, or the reason
	}{
		{night, "20261127", "2026-11-27T18:00:00.000Z/2026-11-28T09:00:00.000Z"},
		{night, "20240229", "2024-02-29T18:00:00.000Z/2024-03-01T09:00:00.000Z"},
		{night, "20250229", "does not say a time"},
		{night, "", "in no group"},
		{night, "2026-11-27", "does not say a time"},
		{night, "20261127b", "does not say a time"},
		{night, "calibration", "does not say a time"},
		{night, "09991231", "outside of the years"},
		{night, "00010101", "outside of the years"},
		{night, "99991231", "outside of the years"},
		{hourly, "2026-11-27T00", "2026-11-26T23:59:00.000Z/2026-11-27T01:01:00.000Z"},
		{hourly, "2026-11-27T24", "does not say a time"},
		{setting.SlotRule{Layout: "2006Jan02", LengthSeconds: 1}, "2026nov27", "does not say a time"},             // two names, one window
		{setting.SlotRule{Layout: "20060102150405", LengthSeconds: 1}, "20261127180000.5", "does not say a time"}, // a fraction
		{setting.SlotRule{Layout: "2006-002", LengthSeconds: 86_400}, "2026-121", "2026-05-01T00:00:00.000Z/2026-05-02T00:00:00.000Z"},
	} {
		opens, closes, err := c.of.Window(c.group)
		if got := opens.String() + "/" + closes.String(); err == nil && got != c.want || err != nil && (!strings.Contains(err.Error(), c.want) || !opens.IsZero()) {
			t.Errorf("%s of %q: %s (%v), want %s", c.group, c.of.Layout, got, err, c.want)
		}
	}
}

// TestWindowsOfAnyTime: of every time the name that a layout writes gives the window of that
// time, whatever the rule.
func TestWindowsOfAnyTime(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		unit := rapid.SampledFrom([]struct {
			layout string
			to     time.Duration
		}{{"20060102", 24 * time.Hour}, {"2006-002", 24 * time.Hour}, {"x2006-01-02T15", time.Hour}, {"060102.1504", time.Minute}, {"20060102150405", time.Second}}).Draw(t, "layout")
		r := setting.SlotRule{Layout: unit.layout, OffsetSeconds: rapid.Int64Range(-366*86_400, 366*86_400).Draw(t, "offset"), LengthSeconds: rapid.Int64Range(1, 366*86_400).Draw(t, "length")}
		at := time.Unix(rapid.Int64Range(0, 2_000_000_000).Draw(t, "time"), 0).UTC().Truncate(unit.to)
		opens, closes, err := r.Window(at.Format(r.Layout))
		if err != nil || r.Check() != nil || opens.Sub(at) != time.Duration(r.OffsetSeconds)*time.Second || closes.Sub(opens.Time) != time.Duration(r.LengthSeconds)*time.Second {
			t.Fatalf("%+v of %s: %s/%s, %v, %v", r, at, opens, closes, err, r.Check())
		}
	})
}

// FuzzWindow: a rule that is allowed and any name give a window of the length of the rule, which
// no other name has; or a reason.
func FuzzWindow(f *testing.F) {
	f.Add("20060102", "20261127", int64(64_800), int64(54_000))
	f.Add("2006Jan2", "2026nov27", int64(0), int64(1))
	f.Add("Mon_20060102150405", "Fri_20261127000000.000", int64(-1), int64(1))
	f.Add("20060102-0700", "20261127+9999", int64(1), int64(1))
	f.Fuzz(func(t *testing.T, layout, group string, offset, length int64) {
		r := setting.SlotRule{Layout: layout, OffsetSeconds: offset, LengthSeconds: length}
		if r.Check() != nil {
			return
		}
		opens, closes, err := r.Window(group)
		if err != nil {
			return
		}
		at := opens.Add(-time.Duration(offset) * time.Second)
		if closes.Sub(opens.Time) != time.Duration(length)*time.Second || opens.IsZero() || at.Format(layout) != group {
			t.Errorf("%q of %+v: %s/%s, whose name is %q", group, r, opens, closes, at.Format(layout))
		}
	})
}
