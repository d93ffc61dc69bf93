package outside_test

import (
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/outside"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/compute"
)

// TestResultsOfStates: a result that is none is refused with what is wrong.
func TestResultsOfStates(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		state       domain.JobState
		result, why string // "" = it is good
	}{
		{domain.JobEstimating, `{"files":2,"bytes":5}`, ""},
		{domain.JobEstimating, `{"files":2,"bytes":5,"unknown":2,"space":9,"priority":0}`, ""},
		{domain.JobEstimating, `{"files":0,"bytes":0,"priority":99}`, ""},
		{domain.JobEstimating, `{"files":2}`, "no files or no bytes"},
		{domain.JobEstimating, `{"bytes":2}`, "no files or no bytes"},
		{domain.JobEstimating, `{"files":2,"bytes":-1}`, "negative"},
		{domain.JobEstimating, `{"files":-2,"bytes":1}`, "negative"},
		{domain.JobEstimating, `{"files":2,"bytes":1,"unknown":-1}`, "negative"},
		{domain.JobEstimating, `{"files":2,"bytes":1,"space":-1}`, "negative"},
		{domain.JobEstimating, `{"files":2,"bytes":1,"unknown":3}`, "3 files of unknown size among 2"},
		{domain.JobEstimating, `{"files":2,"bytes":1,"priority":100}`, "lower runs first"},
		{domain.JobEstimating, `{"files":2,"bytes":1,"priority":-1}`, "lower runs first"},
		{domain.JobEstimating, `{"files":2,"bytes":1,"size":1}`, "size"},
		{domain.JobEstimating, `{"files":"two","bytes":1}`, "files"},
		{domain.JobEstimating, `[2,5]`, "array"},
		{domain.JobRecording, `{}`, ""},
		{domain.JobRecording, `{"catalogue":"x17"}`, ""},
		{domain.JobRecording, `"kept"`, "no JSON object"},
		{domain.JobNotify, `null`, "no JSON object"},
	} {
		err := outside.Check(compute.StateStep(domain.Job{ID: domain.NewJobID(1), State: c.state}), []byte(c.result))
		if (err == nil) != (c.why == "") || err != nil && !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s %s: %v, want %q", c.state, c.result, err, c.why)
		}
	}
	if err := outside.Check(compute.Step{Job: domain.NewJobID(1), Name: "scan"}, []byte("7")); err != nil {
		t.Errorf("the result of an own step: %v", err)
	}
}

// TestEstimates: an estimate changes the priority as it says, or as the profile says of large
// objects and of unknown sizes; the working space is never less than the files.
func TestEstimates(t *testing.T) {
	t.Parallel()
	rule := func(current int, size int64, unknown int) int {
		if size > 4 {
			current++
		}
		return current + 10*unknown
	}
	for result, want := range map[string]domain.EstimateJob{
		`{"files":2,"bytes":5}`:                                     {Files: 2, Bytes: 5, Space: 5, Priority: 6},
		`{"files":2,"bytes":4,"unknown":1,"space":3}`:               {Files: 2, Unknown: 1, Bytes: 4, Space: 4, Priority: 15},
		`{"files":2,"bytes":5,"unknown":1,"space":9,"priority":99}`: {Files: 2, Unknown: 1, Bytes: 5, Space: 9, Priority: 99},
	} {
		e, err := outside.ParseEstimate([]byte(result))
		if err != nil {
			t.Fatal(err)
		}
		if got := e.Command(domain.Job{Priority: 5}, rule); got != want {
			t.Errorf("%s: %+v, want %+v", result, got, want)
		}
	}
}
