package group

import (
	"slices"
	"testing"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/setting"
)

func files(of ...File) []File { return of }

// TestDecide: a group becomes a deposit when all that is said of it holds, or with the end of its
// slot, and never while one of its files is under way.
// Shows: P1
func TestDecide(t *testing.T) {
	t.Parallel()
	one, two := File{Path: "a/1.dat", State: domain.FileReady}, File{Path: "a/2.dat", State: domain.FileReady}
	with := func(f File, change func(*File)) File { change(&f); return f }
	given := with(two, func(f *File) { f.State = domain.FileIgnore })
	gone := with(two, func(f *File) { f.Gone = true })
	changed := with(two, func(f *File) { f.Changed = true })
	skipped := with(two, func(f *File) { f.State = domain.FileSkipped })
	replaced := with(two, func(f *File) { f.Replaced, f.State = true, domain.FileDownloading })
	done := File{Path: "a/all.done", State: domain.FileReady}
	processed := with(one, func(f *File) { f.State = domain.FileProcessed })
	parts := func(p ...Part) []Part { return p }
	for name, c := range map[string]struct {
		rule  setting.GroupDeposit
		facts Facts
		cause Cause
		parts []Part
		waits string
	}{
		"slot is done":               {facts: Facts{Slot: domain.SlotDone, Files: files(one, two)}, cause: CauseSlot, parts: parts(Deposited, Deposited)},
		"slot is done, one given up": {facts: Facts{Slot: domain.SlotDone, Files: files(one, given)}, cause: CauseSlot, parts: parts(Deposited, Missing)},
		"slot is done, one gone":     {facts: Facts{Slot: domain.SlotDone, Files: files(one, gone)}, cause: CauseSlot, parts: parts(Deposited, Missing)},
		"slot is done, one skipped":  {facts: Facts{Slot: domain.SlotDone, Files: files(one, skipped)}, cause: CauseSlot, parts: parts(Deposited, Excluded)},
		"slot is done, one on its way": {facts: Facts{Slot: domain.SlotDone, Files: files(one, with(two, func(f *File) { f.State = domain.FileDownloading }))},
			waits: "a/2.dat is DOWNLOADING"},
		"slot is done, too few":     {rule: setting.GroupDeposit{Files: 3}, facts: Facts{Slot: domain.SlotDone, Files: files(one)}, cause: CauseSlot, parts: parts(Deposited)},
		"slot is active":            {facts: Facts{Slot: domain.SlotActive, Files: files(one)}, waits: "its slot is ACTIVE"},
		"no slot":                   {facts: Facts{Files: files(one)}, waits: "it has no slot, with whose end it is complete"},
		"nothing to deposit":        {facts: Facts{Slot: domain.SlotDone, Files: files(skipped)}, waits: "none of its files can be deposited"},
		"count":                     {rule: setting.GroupDeposit{Files: 2}, facts: Facts{Files: files(one, two)}, cause: CauseFiles, parts: parts(Deposited, Deposited)},
		"count, one too few":        {rule: setting.GroupDeposit{Files: 2}, facts: Facts{Files: files(one)}, waits: "1 of 2 files are there"},
		"count without the marker":  {rule: setting.GroupDeposit{Files: 2, Marker: "*.done"}, facts: Facts{Files: files(one, done)}, waits: "1 of 2 files are there"},
		"marker":                    {rule: setting.GroupDeposit{Marker: "*.done"}, facts: Facts{Files: files(one, done)}, cause: CauseMarker, parts: parts(Deposited, Marker)},
		"marker that rules exclude": {rule: setting.GroupDeposit{Marker: "*.done"}, facts: Facts{Files: files(one, with(done, func(f *File) { f.State = domain.FileSkipped }))}, cause: CauseMarker, parts: parts(Deposited, Marker)},
		"no marker":                 {rule: setting.GroupDeposit{Marker: "*.done"}, facts: Facts{Files: files(one)}, waits: "no file *.done is listed"},
		"marker, one given up":      {rule: setting.GroupDeposit{Marker: "*.done"}, facts: Facts{Files: files(one, given, done)}, waits: "a/2.dat is IGNORE; the end of a slot of the group has it deposited without what is missing"},
		"count, one changed":        {rule: setting.GroupDeposit{Files: 1}, facts: Facts{Files: files(one, changed)}, waits: "a/2.dat has changed at its source since it was downloaded; the end of a slot of the group has it deposited without what is missing"},
		"quiet":                     {rule: setting.GroupDeposit{QuietSeconds: 60}, facts: Facts{Quiet: time.Minute, Files: files(one)}, cause: CauseQuiet, parts: parts(Deposited)},
		"not quiet":                 {rule: setting.GroupDeposit{QuietSeconds: 60}, facts: Facts{Quiet: time.Minute - 1, Files: files(one)}, waits: "nothing has come for 59s of 1m0s"},
		"all that is said":          {rule: setting.GroupDeposit{Files: 1, Marker: "*.done", QuietSeconds: 60}, facts: Facts{Quiet: time.Second, Files: files(one, done)}, waits: "nothing has come for 1s of 1m0s"},
		"another version":           {rule: setting.GroupDeposit{Files: 1}, facts: Facts{Files: files(one, replaced)}, cause: CauseFiles, parts: parts(Deposited, Excluded)},
		"not processed yet":         {rule: setting.GroupDeposit{Files: 1}, facts: Facts{Processed: true, Files: files(one)}, waits: "a/1.dat is READY"},
		"processed":                 {rule: setting.GroupDeposit{Files: 1}, facts: Facts{Processed: true, Files: files(processed)}, cause: CauseFiles, parts: parts(Deposited)},
		"processing has failed":     {facts: Facts{Processed: true, Slot: domain.SlotDone, Files: files(processed, with(two, func(f *File) { f.State = domain.FileAbandoned }))}, cause: CauseSlot, parts: parts(Deposited, Missing)},
	} {
		if d := Decide(c.rule, c.facts); d.Cause != c.cause || d.Waits != c.waits || !slices.Equal(d.Parts, c.parts) {
			t.Errorf("%s: %+v", name, d)
		}
	}
}

// TestTooManyFiles: a group of more files than a deposit can have waits.
func TestTooManyFiles(t *testing.T) {
	t.Parallel()
	f := Facts{Slot: domain.SlotDone, Files: slices.Repeat(files(File{Path: "a", State: domain.FileReady}), setting.MaxGroupFiles+1)}
	if d := Decide(setting.GroupDeposit{}, f); d.Waits != "it has 10001 files, and a deposit has at most 10000" {
		t.Errorf("%+v", d)
	}
}
