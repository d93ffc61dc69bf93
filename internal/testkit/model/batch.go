package model

import "slices"

// Submit makes a pending batch (B1).
func (w *Workflow) Submit(id, collection string) *Batch {
	b := &Batch{ID: id, Collection: collection, State: "pending", Version: 1}
	w.Batches = append(w.Batches, b)
	return b
}

// Make makes the next jobs of a listed batch, one for each priority, under its claim.
func (w *Workflow) Make(b *Batch, ids []string, priorities []int, by By) Answer {
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
func (w *Workflow) DoBatch(b *Batch, command string, rows int, by By) Answer {
	after, ok, alone, row := *b, false, false, ""
	processing, failed, completed := w.Count(b, "processing"), w.Count(b, "failed"), w.Count(b, "completed")
	if b.Gone {
		return Refused // it does not exist
	}
	switch command {
	case "list":
		ok, after.Rows = b.State == "pending" && b.Rows == 0 && !w.Held[b.Collection], rows
	case "hold":
		ok, row = b.State == "pending" && b.Rows == 0 && w.Held[b.Collection], "B2"
	case "start":
		ok, row = b.State == "pending" && b.Rows > 0 && b.Next == b.Rows, "B3"
	case "start badly": // with a manifest error
		ok, row = b.State == "pending" && b.Rows == 0, "B3"
	case "release":
		ok, row = b.State == "held" && !w.Held[b.Collection], "B4"
	case "report":
		ok, row = b.State == "processing" && processing == 0, "B5"
	case "finish":
		good := failed == 0 && b.Rows > 0
		switch b.State {
		case "reporting":
			ok, row = processing == 0, map[bool]string{true: "B6", false: "B7"}[good]
		case "update-reporting":
			ok, row = processing == 0, map[bool]string{true: "B9", false: "B10"}[good && completed > 0]
		}
	case "update":
		ok, row = b.State == "failed" && processing == 0, "B8"
	case "delete":
		ok, alone = b.State == "held" || b.State == "failed" && !w.busy(b), true
		row = "B11"
	case "clean":
		ok, alone, row, after.Cleaned = b.State == "completed" || b.State == "failed" && processing == 0, true, "B13", true
		if b.State == "failed" {
			row = "B14"
		}
	}
	switch {
	case !ok:
		return Refused
	case by.Claim != "" && by.Claim != b.Holder:
		return Fenced
	case alone && b.Holder != "" && b.Holder != by.Claim:
		return Locked
	}
	if row != "" {
		after.State = BatchRows[row].Status
	}
	after.Version++
	if by.Claim != "" && !by.Keep {
		after.Holder = ""
	}
	*b = after
	return Done
}

// busy reports whether a worker has a job of the batch.
func (w *Workflow) busy(b *Batch) bool {
	return slices.ContainsFunc(w.Jobs, func(j *Job) bool { return j.Batch == b && !j.Gone && j.Holder != "" })
}

// Remove takes away what is left of a deleted batch. Its jobs go with an event each
// (J23), those of one that was cleaned up without.
func (w *Workflow) Remove(b *Batch) Answer {
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
