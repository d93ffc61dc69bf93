package sweep

import (
	"time"

	"github.com/accession-ingest/accession/domain"
)

// Limits says how long attempts may take and how many there are.
type Limits struct {
	// Default is for files that belong to no job, and for those of profiles that
	// are not named.
	Default domain.FileLimits
	// Profiles is for the files of jobs, by the name of the job's profile.
	Profiles map[string]domain.FileLimits
}

// Of gives the limits of a profile's files; "" = of files that belong to no job.
func (l Limits) Of(profile string) domain.FileLimits {
	if of, ok := l.Profiles[profile]; ok && profile != "" {
		return of
	}
	return l.Default
}

// Net gives the conditions that every overdue file meets, whatever its profile.
func (l Limits) Net(now domain.Time) Net {
	download, processing := l.Default.Download.Timeout, l.Default.Processing.Timeout
	for _, of := range l.Profiles {
		download, processing = min(download, of.Download.Timeout), min(processing, of.Processing.Timeout)
	}
	before := func(timeout time.Duration) domain.Time { return domain.At(now.Add(-timeout)) }
	return Net{DownloadBefore: before(download), ProcessingBefore: before(processing), DownloadAttempts: l.Default.Download.Max}
}
