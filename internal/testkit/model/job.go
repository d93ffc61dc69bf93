package model

import (
	"cmp"
	"slices"
	"strings"
)

// By is who asks: the claim under which it is done, "" = an operator or the program
// itself without one; and whether work goes on under the claim.
type By struct {
	Claim string
	Keep  bool
}

// works are the states that a daemon works in.
var works = map[string]bool{"pending": true, "estimating": true, "provisioning": true, "downloading": true, "processing": true,
	"recording": true, "notify": true}

// unlocked are the commands that are refused while another worker has the job.
var unlocked = map[string]bool{"release": true, "requeue": true, "delete": true, "reprioritise": true}

// Do does a command to a job; priority is for those that may change it.
func (w *Workflow) Do(j *Job, command string, priority int, by By) Answer {
	after, ok := *j, false
	if j.Gone {
		return NotFound
	}
	row, is := j.row(command)
	switch {
	case is:
		ok = command != "accept" && command != "release" || !w.Held[j.Batch.Collection]
		if command == "requeue" || command == "delete" {
			ok = open(j.Batch) && (command == "delete" || !j.Faulty)
		}
		after.Faulty = j.Faulty || command == "fail" && j.State == "pending"
		if command == "estimate" || command == "download" {
			after.Priority = priority
		}
		after.take(row)
	case command == "identify":
		ok = j.State == "processing"
	case command == "wait":
		ok = works[j.State]
	case command == "reprioritise":
		ok, after.Priority = j.Queued() && priority >= 0 && priority <= 99, priority
	}
	switch {
	case !ok || after.Priority < 0 || after.Priority > 99:
		return Refused
	case by.Claim != "" && by.Claim != j.Holder:
		return Fenced
	case unlocked[command] && j.Holder != "" && j.Holder != by.Claim:
		return Locked
	}
	after.Version++
	after.Claims = 0
	if by.Claim != "" && !by.Keep {
		after.Holder = ""
	}
	*j = after
	return Done
}

// row finds what a command does to the job as it is.
func (j *Job) row(command string) (JobRow, bool) {
	for _, r := range JobRows {
		if r.Command == command && slices.Contains(strings.Fields(r.From), j.State) &&
			(r.After == "" || slices.Contains(strings.Fields(r.After), cmp.Or(j.Last, "null"))) && (!r.Cleaned || !j.Cleaned) {
			return r, true
		}
	}
	return JobRow{}, false
}

func (j *Job) take(r JobRow) {
	j.Gone, j.Cleaned = r.Gone, j.Cleaned || r.Cleaned
	if !r.Gone {
		j.State = r.Status
	}
	if r.Last != "" {
		j.Last = r.Last
	}
	if r.Again {
		j.Retries++
	}
}

// open reports whether a job of the batch may be requeued or deleted.
func open(b *Batch) bool { return b.State == "processing" || b.State == "failed" }

// HandOver claims a job that has just moved, for the next state's work.
func (j *Job) HandOver(claim string) { j.Holder, j.Claims = claim, 1 }
