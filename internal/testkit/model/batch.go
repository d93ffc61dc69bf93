package model

import "slices"

// Submit makes a pending batch (B1).
func (w *World) Submit(id, collection string) *Batch {
	b := &Batch{ID: id, Collection: collection, State: "pending", Version: 1}
	w.Batches = append(w.Batches, b)
	return b
}

// Make makes the next jobs of a listed batch, one for each priority, under its claim.
func (w *World) Make(b *Batch, ids []string, priorities []int, by By) Answer {
	switch {
	case slices.ContainsFunc(priorities, func(p int) bool { return p < 0 || p > 99 }):
		return Refused
	case by.Claim != b.Holder:
		return Fenced
	}
	for i, id := range ids {
		w.Jobs = append(w.Jobs, &Job{ID: id, Batch: b, State: "pending", Priority: priorities[i], Version: 1})
	}
	b.Next += len(ids)
	return Done
}

// DoBatch does a command to a batch; rows is for the one that lists it.
func (w *World) DoBatch(b *Batch, command string, rows int, by By) Answer {
	after, ok, alone := *b, false, false
	processing, failed, completed := w.Count(b, "processing"), w.Count(b, "failed"), w.Count(b, "completed")
	if b.Gone {
		return Refused // it does not exist
	}
	switch command {
	case "list":
		ok, after.Rows = b.State == "pending" && b.Rows == 0 && !w.Held[b.Collection], rows
	case "hold": // B2
		ok, after.State = b.State == "pending" && b.Rows == 0 && w.Held[b.Collection], "held"
	case "start": // B3
		ok, after.State = b.State == "pending" && b.Rows > 0 && b.Next == b.Rows, "processing"
	case "start badly": // B3, with a manifest error
		ok, after.State = b.State == "pending" && b.Rows == 0, "processing"
	case "release": // B4
		ok, after.State = b.State == "held" && !w.Held[b.Collection], "pending"
	case "report": // B5
		ok, after.State = b.State == "processing" && processing == 0, "reporting"
	case "finish":
		good := failed == 0 && b.Rows > 0
		switch b.State {
		case "reporting": // B6, B7
			ok = processing == 0
		case "update-reporting": // B9, B10
			ok, good = processing == 0, good && completed > 0
		}
		after.State = map[bool]string{true: "completed", false: "failed"}[good]
	case "update": // B8
		ok, after.State = b.State == "failed" && processing == 0, "update-reporting"
	case "delete": // B11, B12
		ok, alone = b.State == "held" || b.State == "failed" && !w.busy(b), true
		after.State = "deleted"
	case "clean": // B13
		ok, alone = b.State == "completed", true
		after.State, after.Cleaned = "deleted", true
	}
	switch {
	case !ok:
		return Refused
	case by.Claim != "" && by.Claim != b.Holder:
		return Fenced
	case alone && b.Holder != "" && b.Holder != by.Claim:
		return Locked
	}
	after.Version++
	if by.Claim != "" && !by.Keep {
		after.Holder = ""
	}
	*b = after
	return Done
}

// busy reports whether a worker has a job of the batch.
func (w *World) busy(b *Batch) bool {
	return slices.ContainsFunc(w.Jobs, func(j *Job) bool { return j.Batch == b && !j.Gone && j.Holder != "" })
}

// Remove takes away what is left of a deleted batch. Its jobs go with an event each
// (J23), those of one that was cleaned up without.
func (w *World) Remove(b *Batch) Answer {
	switch {
	case b.Gone:
		return Done
	case w.busy(b):
		return Locked
	}
	for _, j := range w.Jobs {
		if j.Batch == b && !j.Gone {
			j.Gone = true
			if !b.Cleaned {
				j.Version++
			}
		}
	}
	b.Gone = true
	return Done
}
