package model

// By is who asks: the claim under which it is done, "" = an operator or the program
// itself without one; and whether work goes on under the claim.
type By struct {
	Claim string
	Keep  bool
}

// step is a row of the table that a daemon makes.
type step struct {
	from, to string
	succeeds bool // last_successful_status becomes from
}

var steps = map[string]step{
	"accept":    {"pending", "estimating", false},     // J4
	"estimate":  {"estimating", "provisioning", true}, // J6
	"provision": {"provisioning", "downloading", true},
	"download":  {"downloading", "processing", true},
	"process":   {"processing", "recording", true},
	"record":    {"recording", "notify", true},
	"complete":  {"notify", "completed", true}, // J14
	"hold":      {"pending", "held", false},    // J2
	"release":   {"held", "pending", false},    // J3
}

// fails are the states in which a job may fail: J5, J9, J11, J13, J15.
var fails = map[string]bool{"pending": true, "downloading": true, "processing": true, "recording": true, "notify": true}

// requeues are J16 to J19, by the last successful status.
var requeues = map[string]string{"provisioning": "downloading", "downloading": "processing", "processing": "recording", "recording": "notify"}

// works are the states that a daemon works in.
var works = map[string]bool{"pending": true, "estimating": true, "provisioning": true, "downloading": true, "processing": true,
	"recording": true, "notify": true}

// unlocked are the commands that are refused while another worker has the job.
var unlocked = map[string]bool{"release": true, "requeue": true, "delete": true, "reprioritise": true}

// Do does a command to a job; priority is for those that may change it.
func (w *World) Do(j *Job, command string, priority int, by By) Answer {
	after, ok := *j, false
	if j.Gone {
		return NotFound
	}
	switch s, is := steps[command]; {
	case is:
		ok = j.State == s.from
		if (command == "accept" || command == "release") && w.Held[j.Batch.Collection] {
			ok = false
		}
		after.State = s.to
		if s.succeeds {
			after.Last = s.from
		}
		if command == "estimate" || command == "download" {
			after.Priority = priority
		}
	case command == "fail":
		ok, after.State = fails[j.State], "failed"
	case command == "requeue":
		to, known := requeues[j.Last]
		ok = j.State == "failed" && known && open(j.Batch)
		after.State, after.Retries = to, j.Retries+1
	case command == "delete": // J21, J22
		ok, after.Gone = (j.State == "failed" || j.State == "held") && open(j.Batch), true
	case command == "clean": // J20
		ok, after.Cleaned = j.State == "completed" && !j.Cleaned, true
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

// open reports whether a job of the batch may be requeued or deleted.
func open(b *Batch) bool { return b.State == "processing" || b.State == "failed" }

// HandOver claims a job that has just moved, for the next state's work, if nothing in
// that queue goes before it.
func (w *World) HandOver(j *Job, claim string) bool {
	if w.NextJob(j.State) != j {
		return false
	}
	j.Holder, j.Claims = claim, 1
	return true
}
