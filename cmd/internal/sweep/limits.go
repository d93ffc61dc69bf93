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
	widest := l.Default
	for _, of := range l.Profiles {
		widest.Download = wider(widest.Download, of.Download)
		widest.Processing = wider(widest.Processing, of.Processing)
	}
	before := func(timeout time.Duration) domain.Time { return domain.At(now.Add(-timeout)) }
	return Net{
		DownloadBefore: before(widest.Download.Timeout), ProcessingBefore: before(widest.Processing.Timeout),
		DownloadAttempts: widest.Download.Max, ProcessingAttempts: widest.Processing.Max,
	}
}

func wider(a, b domain.Limits) domain.Limits {
	return domain.Limits{Max: min(a.Max, b.Max), Timeout: min(a.Timeout, b.Timeout)}
}
