package compute

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/entry"
)

// stepPrefix begins the keys of entries for own steps of jobs. No caller may request work
// under such a key.
const stepPrefix = "job/"

// Codes of the reasons that own steps of jobs give.
const (
	// CodeCompute is the reason of a job that waits for an entry.
	CodeCompute domain.Code = "compute"
	// CodeStepTimeout is the reason of a job whose entry a worker has had for too long.
	CodeStepTimeout domain.Code = "step_timeout"
	// CodeJobMoved is the reason of an entry whose job does not wait for it any more.
	CodeJobMoved domain.Code = "job_moved"
)

// PartFiles is how many files of a job one entry is about, at most.
const PartFiles = entry.MaxInputs

// Step is an own step of a job, for one part of its files, or its state, if workers outside do
// the work of that: the entry of the compute queue with its key stands for it.
type Step struct {
	Job   domain.JobID
	Name  string // that the profile gives it, or that of [StateStep]
	Retry int    // retry_count of the job
	Part  int    // of the files, from 1: each part but the last has PartFiles of them
}

// Key returns the key of the entry of the step: job/JID/NAME/RETRY, of further parts with
// the number of the part at the end.
func (s Step) Key() string {
	key := fmt.Sprintf("%s%s/%s/%d", stepPrefix, s.Job, s.Name, s.Retry)
	if s.Part > 1 {
		key += fmt.Sprintf("/%d", s.Part)
	}
	return key
}

// StepOf returns the step for which an entry stands, if it stands for one.
func StepOf(key string) (s Step, is bool) {
	parts := strings.Split(strings.TrimPrefix(key, stepPrefix), "/")
	if len(parts) == 3 {
		parts = append(parts, "1")
	}
	if len(parts) != 4 || parts[1] == "" {
		return s, false
	}
	job, jerr := domain.ParseJobID(parts[0])
	retry, rerr := strconv.Atoi(parts[2])
	part, perr := strconv.Atoi(parts[3])
	s = Step{job, parts[1], retry, part}
	return s, jerr == nil && rerr == nil && perr == nil && retry >= 0 && part > 0 && s.Key() == key
}

// Waits reports whether a job may wait for the entry of the step.
func (s Step) Waits(j domain.Job) bool {
	return j.ID == s.Job && j.State == s.State() && j.RetryCount == s.Retry
}

// JobMoved returns the command that ends an entry for which a job does not wait any more.
func JobMoved(job domain.JobID) Fail {
	return Fail{Reason: domain.Reason{Class: domain.ClassCancelled, Code: CodeJobMoved, Message: fmt.Sprintf("%s does not wait for it any more", job)}}
}

// Inputs returns what the entry has in place of the URLs of its inputs: the contents are
// where this service has downloaded them.
func (s Step) Inputs(files []domain.FileHash) []string {
	inputs := make([]string, len(files))
	for i, hash := range files {
		inputs[i] = inputPrefix + string(hash)
	}
	return inputs
}

// InputFiles returns the files of this service that are the inputs of an entry, in their
// order, if all of them are such files.
func (e Entry) InputFiles() ([]domain.FileHash, bool) {
	files := make([]domain.FileHash, len(e.Request.Inputs))
	for i, in := range e.Request.Inputs {
		name, is := strings.CutPrefix(in, inputPrefix)
		hash, err := domain.ParseFileHash(name)
		if err != nil || !is {
			return nil, false
		}
		files[i] = hash
	}
	return files, true
}

// Failure returns why a job fails whose step has failed as an entry: in the words of the
// worker, after the name of the step.
func (s Step) Failure(e Entry) domain.Reason {
	why := domain.Reason{Class: domain.ClassSystem, Code: domain.CodeAttemptsUsedUp, Message: "no worker has said why"}
	if e.Reason != nil {
		why = domain.Reason{Class: e.Reason.Class, Code: e.Reason.Code, Message: e.Reason.Message}
	}
	if !slices.Contains([]domain.Class{domain.ClassContent, domain.ClassSystem, domain.ClassTimeout}, why.Class) {
		why.Class = domain.ClassSystem // what else a worker may say is no failure of a job
	}
	why.Message = s.Name + ": " + why.Message
	return why
}
