// Package group has the rule by which a group of a dataset is complete and becomes a deposit.
// It is pure; what is known of the files of the group and of its slot comes as an argument.
package group

import (
	"fmt"
	"slices"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/setting"
)

// Part is what a file is in the deposit of its group.
type Part string

// The parts.
const (
	Deposited Part = "deposited"
	Marker    Part = "marker"   // it says that the group is complete
	Missing   Part = "missing"  // it was given up, has gone, or has changed at its source
	Excluded  Part = "excluded" // it was skipped, or its directory lists another version
)

// Cause is why a group is complete.
type Cause string

// The causes.
const (
	CauseSlot   Cause = "slot"
	CauseMarker Cause = "marker"
	CauseFiles  Cause = "files"
	CauseQuiet  Cause = "quiet"
)

// File is what the rule knows of a file of the group.
type File struct {
	Path  string
	State domain.FileState
	// Gone: no directory lists it now; Changed: it has changed at its source since it was
	// downloaded; Replaced: its directory lists another version of it.
	Gone, Changed, Replaced bool
}

// Facts are what a decision needs.
type Facts struct {
	Slot domain.SlotState // SlotNone = the group has none
	// Quiet is the time from when a file has last come or changed to the last poll.
	Quiet time.Duration
	// Processed: workers process the files of the dataset before they are deposited.
	Processed bool
	Files     []File
}

// Decision says whether a group becomes a deposit.
type Decision struct {
	Cause Cause  // "" = it waits
	Waits string // what it waits for, as a sentence says it after “it waits:”
	Parts []Part // of the files, in their order; nil = it waits
}

// Decide decides about a group that no deposit was made of yet.
func Decide(rule setting.GroupDeposit, f Facts) Decision {
	parts, n := make([]Part, len(f.Files)), map[Part]int{}
	lacks, marked := "", false
	for i, file := range f.Files {
		part, settled := partOf(rule, f.Processed, file)
		if !settled {
			return waits("%s is %s", file.Path, file.State)
		}
		if part == Missing && lacks == "" {
			lacks = lack(file)
		}
		marked = marked || rule.Matches(file.Path)
		parts[i] = part
		n[part]++
	}
	d := Decision{Cause: CauseSlot, Parts: parts}
	switch {
	case n[Deposited] == 0:
		return waits("none of its files can be deposited")
	case n[Deposited] > setting.MaxGroupFiles:
		return waits("it has %d files, and a deposit has at most %d", n[Deposited], setting.MaxGroupFiles)
	case f.Slot == domain.SlotDone:
		return d
	case !rule.Early() && f.Slot == domain.SlotNone:
		return waits("it has no slot, with whose end it is complete")
	case !rule.Early():
		return waits("its slot is %s", f.Slot)
	case lacks != "":
		return waits("%s; the end of a slot of the group has it deposited without what is missing", lacks)
	case n[Deposited] < rule.Files:
		return waits("%d of %d files are there", n[Deposited], rule.Files)
	case rule.Marker != "" && !marked:
		return waits("no file %s is listed", rule.Marker)
	case f.Quiet < rule.Quiet():
		return waits("nothing has come for %v of %v", f.Quiet.Truncate(time.Second), rule.Quiet())
	case rule.Marker != "":
		d.Cause = CauseMarker
	case rule.Files > 0:
		d.Cause = CauseFiles
	default:
		d.Cause = CauseQuiet
	}
	return d
}

// Moving are the states in which a file of a group is waited for. In a dataset whose files are
// processed READY is one too.
var Moving = []domain.FileState{domain.FileDiscovered, domain.FileDownloading, domain.FileDownloadingFailed, domain.FileDownloaded, domain.FileProcessing, domain.FileProcessingFailed}

// partOf returns what a file is in the deposit, and whether it is anything yet.
func partOf(rule setting.GroupDeposit, processed bool, f File) (Part, bool) {
	there := f.State == domain.FileProcessed || f.State == domain.FileReady
	switch {
	case f.Replaced:
		return Excluded, true
	case slices.Contains(Moving, f.State) || processed && f.State == domain.FileReady:
		return "", false
	case rule.Matches(f.Path):
		return Marker, true
	case f.State == domain.FileSkipped:
		return Excluded, true
	case !there || f.Gone || f.Changed:
		return Missing, true
	}
	return Deposited, true
}

func lack(f File) string {
	switch {
	case f.State == domain.FileIgnore || f.State == domain.FileAbandoned:
		return fmt.Sprintf("%s is %s", f.Path, f.State)
	case f.Gone:
		return f.Path + " is not listed any more"
	}
	return f.Path + " has changed at its source since it was downloaded"
}

func waits(format string, args ...any) Decision { return Decision{Waits: fmt.Sprintf(format, args...)} }
