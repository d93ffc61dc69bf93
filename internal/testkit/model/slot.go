package model

// SlotRow is a row of the table of slots.
type SlotRow struct {
	Row, From, To string // "" = it does not exist
	Event         string
}

// SlotRows has all rows of slots.
var SlotRows = []SlotRow{
	{"S1", "", "PENDING", "slot.created"},
	{"S2", "PENDING", "ACTIVE", "slot.opened"},
	{"S3", "ACTIVE", "DONE", "slot.closed"},
	{"S4", "PENDING", "MISSED", "slot.missed"},
	{"S4", "ACTIVE", "MISSED", "slot.missed"},
	{"S5", "DONE", "ACTIVE", "slot.opened"},
	{"S5", "MISSED", "ACTIVE", "slot.opened"},
}

// Slot is a slot as it should be. Times are minutes from 1, 0 = none.
type Slot struct {
	State         string
	Opens, Closes int
	Files         int // that had arrived when it ended
	Version       int
}

// SlotCommand is what is asked of a slot: to add, open, close or end it.
type SlotCommand struct {
	Name          string
	Opens, Closes int    // of add
	Now, Until    int    // Now 0 = the time is unknown, Until 0 = the window ends as before
	Reason        string // "" = none, otherwise [Given] or [Blank]
	Files         int    // that have arrived
}

// Reasons of a command.
const (
	Given = "given"
	Blank = "blank" // without a message
)

// Do does a command to the slot, and returns the rows that it takes, none if it is refused.
func (s *Slot) Do(c SlotCommand) (rows []SlotRow) {
	after, path := *s, []string(nil)
	switch c.Name {
	case "add":
		after.Opens, after.Closes = c.Opens, c.Closes
		if s.State == "" && 0 < c.Opens && c.Opens < c.Closes {
			path = []string{"PENDING"}
		}
	case "open":
		if c.Until != 0 {
			after.Closes = c.Until
		}
		byHand := c.Reason == Given && (s.State == "PENDING" || s.State == "DONE" || s.State == "MISSED")
		byTime := c.Reason == "" && s.State == "PENDING" && s.Opens <= c.Now
		if after.Files = 0; (byHand || byTime) && c.Now != 0 && c.Now < after.Closes && after.Opens < after.Closes {
			path = []string{"ACTIVE"}
		}
	case "close":
		if after.Files = c.Files; c.Reason == Given {
			path = map[string][]string{"PENDING": {"MISSED"}, "ACTIVE": {"DONE"}}[s.State]
		}
	case "end":
		after.Files = c.Files
		lives := s.State == "PENDING" || s.State == "ACTIVE"
		switch {
		case !lives || c.Now == 0 || c.Now < s.Closes:
		case c.Files == 0:
			path = []string{"MISSED"}
		case s.State == "PENDING":
			path = []string{"ACTIVE", "DONE"}
		default:
			path = []string{"DONE"}
		}
	}
	for _, to := range path {
		for _, r := range SlotRows {
			if r.From == after.State && r.To == to {
				rows = append(rows, r)
			}
		}
		after.State = to
		after.Version++
	}
	if len(path) > 0 {
		*s = after
	}
	return rows
}
