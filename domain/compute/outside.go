package compute

import (
	"slices"
	"strings"

	"github.com/accession-ingest/accession/domain"
)

const (
	// stateName begins the names of the steps that stand for states. No step of a profile has
	// such a name.
	stateName = "_"
	// stateDataset begins the datasets of the entries for states. No caller may request work
	// on such a dataset, and a worker gets it only if it asks for it.
	stateDataset = "job-state/"
)

// OutsideStates are the states of jobs whose work a profile may leave to workers outside, in
// the order of the workflow. What they do in processing are own steps of jobs.
var OutsideStates = []domain.JobState{domain.JobPending, domain.JobEstimating, domain.JobProvisioning, domain.JobRecording, domain.JobNotify}

// StateDataset returns the dataset of the entries for a state of jobs.
func StateDataset(s domain.JobState) string { return stateDataset + string(s) }

// OfState reports whether a dataset is one that [StateDataset] returns, or looks like one.
func OfState(name string) bool { return strings.HasPrefix(name, stateDataset) }

// StateStep returns the step that stands for the state in which a job is.
func StateStep(j domain.Job) Step {
	return Step{Job: j.ID, Name: stateName + string(j.State), Retry: j.RetryCount, Part: 1}
}

// Outside reports whether the step stands for a state.
func (s Step) Outside() bool {
	name, is := strings.CutPrefix(s.Name, stateName)
	return is && slices.Contains(OutsideStates, domain.JobState(name))
}

// State returns the state in which the job waits for the step.
func (s Step) State() domain.JobState {
	if s.Outside() {
		return domain.JobState(strings.TrimPrefix(s.Name, stateName))
	}
	return domain.JobProcessing
}

// Title returns how the step is shown: as the profile names it, or as its state.
func (s Step) Title() string {
	if s.Outside() {
		return string(s.State())
	}
	return s.Name
}

// JobInput returns what the entry of a step that stands for a state has in place of the URL of
// an input.
func (s Step) JobInput() string { return "accession:" + stepPrefix + string(s.Job) }
