package wire

import (
	"errors"
	"slices"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/profile"
)

// profileFiles are the profiles in a directory, as this process has read them last.
type profileFiles struct {
	dir    string
	is     *profile.Set
	read   string    // their stamp then
	looked string    // their stamp when it was looked last
	gone   []string  // those whose files are gone since the start
	due    time.Time // when it is looked again
}

// reload reads the files again if they have changed, and were then left alone from one look to the
// next: who writes one may not have ended. It reports whether it has other profiles.
func (s *setProfiles) reload() bool {
	f, now := &s.files, s.clock()
	if f.dir == "" || now.Before(f.due) {
		return false
	}
	f.due = now.Add(profilesFresh)
	stamp, err := profile.Stamp(f.dir)
	if err != nil {
		stamp = err.Error() // reading them says so
	}
	settled := stamp == f.looked
	f.looked = stamp
	if stamp == f.read || !settled {
		return false
	}
	is, gone, err := f.is.Reload(f.dir, s.now)
	if _, faulty := errors.AsType[profile.Faults](err); err != nil && !faulty {
		f.due = now.Add(profilesPause)
		s.log.Error("the profiles in the files cannot be read: they stay as they were, and are read again", "dir", f.dir, "error", err)
		return false
	}
	f.read = stamp
	if err != nil {
		s.log.Error("the profiles in the files stay as they were in this process: correct the files, `accession config check` names every fault", "dir", f.dir, "error", err)
		return false
	}
	if len(gone) > 0 && !slices.Equal(gone, f.gone) {
		s.log.Warn("profiles whose files are gone stay until this process is started again", "dir", f.dir, "profiles", gone)
	}
	f.is, f.gone = is, gone
	s.log.Info("the profiles were read again", "dir", f.dir)
	return true
}
