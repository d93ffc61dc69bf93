package domain

import "slices"

// ReportListLimit is how many job ids a report carries in its lists, all lists
// together. Longer lists are cut and Truncated is set; the whole report then is at
// ReportURL. The limit keeps the report's event under 32 KiB.
const ReportListLimit = 1000

// Report is the data of /batches/BID/status-report and of the event that ends a
// report. SuccessfulJobs and FailedJobs are complete (but for the limit);
// the last two are filled by an update report.
type Report struct {
	LastModified        Time    `json:"last_modified"`
	FailedJobs          []JobID `json:"failed_jobs"`
	SuccessfulJobs      []JobID `json:"successful_jobs"`
	NewlySuccessfulJobs []JobID `json:"newly_successful_jobs,omitempty"`
	UnresolvedJobs      []JobID `json:"unresolved_jobs,omitempty"`
	Failed              int     `json:"failed"`
	Successful          int     `json:"successful"`
	Truncated           bool    `json:"truncated,omitempty"`
	ReportURL           string  `json:"report_url,omitempty"`
	ReportSHA256        string  `json:"report_sha256,omitempty"`
}

// NewReport returns a report from the jobs that succeeded and failed. For an
// update report prev is the report before it, else nil. Lists must be sorted.
func NewReport(successful, failed []JobID, prev *Report, now Time) Report {
	// Empty lists are written as [], not as null.
	r := Report{LastModified: now, SuccessfulJobs: append([]JobID{}, successful...), FailedJobs: append([]JobID{}, failed...),
		Successful: len(successful), Failed: len(failed)}
	if prev != nil {
		for _, j := range successful {
			if _, before := slices.BinarySearch(prev.SuccessfulJobs, j); !before {
				r.NewlySuccessfulJobs = append(r.NewlySuccessfulJobs, j)
			}
		}
		r.UnresolvedJobs = r.FailedJobs
	}
	return r
}

// Cut returns the report with its lists cut to the limit, pointing at the whole.
func (r Report) Cut(url, sha256 string) Report {
	left := ReportListLimit
	for _, list := range []*[]JobID{&r.FailedJobs, &r.UnresolvedJobs, &r.NewlySuccessfulJobs, &r.SuccessfulJobs} {
		if len(*list) > left {
			*list = (*list)[:left]
		}
		left -= len(*list)
	}
	r.Truncated, r.ReportURL, r.ReportSHA256 = true, url, sha256
	return r
}

// TooLong reports whether the lists exceed the limit, so that the report must be
// kept in the object store and cut.
func (r Report) TooLong() bool {
	return len(r.FailedJobs)+len(r.SuccessfulJobs)+len(r.NewlySuccessfulJobs)+len(r.UnresolvedJobs) > ReportListLimit
}
