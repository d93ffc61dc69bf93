// Package outside knows what workers outside send as the results of tasks: the work of a state
// of jobs that a profile leaves to them. It is checked where it arrives, so that the worker is
// told, and where the job goes on with it.
package outside

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/compute"
)

// CodeResultInvalid is the reason of a job whose worker has sent a result that is none.
const CodeResultInvalid domain.Code = "result_invalid"

// Estimate is the result of estimating.
type Estimate struct {
	Files    *int   `json:"files"`
	Bytes    *int64 `json:"bytes"` // of all files whose size is known
	Unknown  int    `json:"unknown"`
	Space    int64  `json:"space"` // working space in bytes, if it is more than the files
	Priority *int   `json:"priority"`
}

// ParseEstimate reads and checks the result of estimating.
func ParseEstimate(result []byte) (e Estimate, err error) {
	d := json.NewDecoder(bytes.NewReader(result))
	d.DisallowUnknownFields()
	if err := d.Decode(&e); err != nil {
		return e, fmt.Errorf("the result of estimating is %w", err)
	}
	switch {
	case e.Files == nil || e.Bytes == nil:
		err = errors.New("the result of estimating has no files or no bytes: send how many files there are, and how many bytes they have together")
	case *e.Files < 0 || *e.Bytes < 0 || e.Unknown < 0 || e.Space < 0:
		err = errors.New("a number in the result of estimating is negative")
	case e.Unknown > *e.Files:
		err = fmt.Errorf("the result of estimating has %d files of unknown size among %d", e.Unknown, *e.Files)
	case e.Priority != nil && (*e.Priority < domain.PriorityFirst || *e.Priority > domain.PriorityLast):
		err = fmt.Errorf("the priority in the result of estimating is %d: a priority is %d to %d, and lower runs first", *e.Priority, domain.PriorityFirst, domain.PriorityLast)
	}
	return e, err
}

// Command returns the command that ends estimating with the result, for a job. It is no more
// urgent than the profile says of large ones, and of those of unknown size.
func (e Estimate) Command(j domain.Job, rule func(current int, size int64, unknown int) int) domain.EstimateJob {
	cmd := domain.EstimateJob{Files: *e.Files, Unknown: e.Unknown, Bytes: *e.Bytes, Space: max(e.Space, *e.Bytes), Priority: rule(j.Priority, *e.Bytes, e.Unknown)}
	if e.Priority != nil {
		cmd.Priority = *e.Priority
	}
	return cmd
}

// Check checks the result of a step that stands for a state of its job; of any other it says
// nothing.
func Check(s compute.Step, result []byte) error {
	if !s.Outside() {
		return nil
	}
	if s.State() == domain.JobEstimating {
		_, err := ParseEstimate(result)
		return err
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(result, &object); err != nil || object == nil {
		return fmt.Errorf("the result of %s is no JSON object: send {} or what is to be kept with it", s.State())
	}
	return nil
}
