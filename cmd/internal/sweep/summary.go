package sweep

import "github.com/accession-ingest/accession/domain"

// Summary tells what a pass did.
type Summary struct {
	Now       domain.Time              `json:"now"`       // the log's time that decided
	Looked    int                      `json:"looked"`    // candidates
	Recovered map[domain.FileState]int `json:"recovered"` // files, by the state that the sweeper brought them to
	Moved     int                      `json:"moved"`     // candidates that a worker or another sweeper had moved on
	Errors    int                      `json:"errors"`    // candidates that could not be decided; the next pass looks again
	Faults    []string                 `json:"faults"`    // why, of the first few
}

// maxFaults bounds how many causes a summary tells.
const maxFaults = 10

// Total counts the files that the pass recovered.
func (s Summary) Total() (n int) {
	for _, files := range s.Recovered {
		n += files
	}
	return n
}

func (s *Summary) fault(err error) {
	s.Errors++
	if len(s.Faults) < maxFaults {
		s.Faults = append(s.Faults, err.Error())
	}
}
