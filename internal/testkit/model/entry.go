package model

// EntryRow is a row of the table of entries of the compute queue.
type EntryRow struct {
	Row, From, To string // "" = it does not exist
	Event         string
}

// EntryRows has all rows of entries.
var EntryRows = []EntryRow{
	{"E1", "", "PENDING", "entry.requested"},
	{"E2", "PENDING", "STAGING", "entry.claimed"},
	{"E3", "STAGING", "PENDING", "entry.returned"},
	{"E4", "STAGING", "SUCCESSFUL", "entry.completed"},
	{"E5", "STAGING", "FAILED", "entry.failed"},
	{"E6", "PENDING", "FAILED", "entry.failed"},
	{"E7", "FAILED", "PENDING", "entry.returned"},
	{"E8", "SUCCESSFUL", "PURGED", "entry.purged"},
	{"E9", "FAILED", "PURGED", "entry.purged"},
}

// Entry is an entry as it should be.
type Entry struct {
	State   string
	Attempt int
	Worker  string // that has it, "" = none
	Stored  bool   // it has a result
	Version int
}

// EntryCommand is what is asked of an entry: to request, claim, return, complete, fail, retry
// or purge it.
type EntryCommand struct {
	Name      string
	Bad       string // what the request lacks, "" = nothing
	Worker    string // that claims it
	Attempts  int    // that it has when it is returned, 0 = three
	Uncounted bool   // the attempt that is returned is given back
}

// Do does a command to the entry, and returns the row that it takes, none if it is refused.
func (e *Entry) Do(c EntryCommand) (EntryRow, bool) {
	after, to, ok := *e, "", false
	switch c.Name {
	case "request":
		to, ok = "PENDING", e.State == "" && c.Bad == ""
	case "claim":
		to, ok = "STAGING", e.State == "PENDING" && c.Worker != ""
		after.Worker = c.Worker
		after.Attempt++
	case "return":
		most := c.Attempts
		if most == 0 {
			most = 3
		}
		to, ok = "PENDING", e.State == "STAGING"
		switch {
		case c.Uncounted:
			after.Attempt--
		case e.Attempt >= most:
			to = "FAILED"
		}
	case "complete":
		to, ok = "SUCCESSFUL", e.State == "STAGING"
		after.Stored = true
	case "fail":
		to, ok = "FAILED", e.State == "STAGING" || e.State == "PENDING"
	case "retry":
		to, ok = "PENDING", e.State == "FAILED"
		after.Attempt = 0
	case "purge":
		to, ok = "PURGED", e.State == "SUCCESSFUL" || e.State == "FAILED"
	}
	if !ok {
		return EntryRow{}, false
	}
	for _, r := range EntryRows {
		if r.From == e.State && r.To == to {
			if after.State = to; to != "STAGING" {
				after.Worker = ""
			}
			after.Version++
			*e = after
			return r, true
		}
	}
	return EntryRow{}, false
}
