package model

// QueryRow is a row of the table of queries.
type QueryRow struct {
	Row, From, To string // "" = it does not exist
	Event         string
}

// QueryRows has all rows of queries.
var QueryRows = []QueryRow{
	{"Q1", "", "received", "query.received"},
	{"Q2", "received", "grabbed", "query.grabbed"},
	{"Q3", "grabbed", "answered", "query.answered"},
	{"Q4", "grabbed", "failed", "query.failed"},
	{"Q5", "received", "parked", "query.parked"},
	{"Q6", "parked", "received", "query.unparked"},
	{"Q7", "received", "failed", "query.failed"},
	{"Q8", "parked", "failed", "query.failed"},
}

// Query is a query as it should be.
type Query struct {
	State    string
	Lines    int    // of its list
	Mail     bool   // its report is to be mailed
	User     string // of its ticket, "" = it has none
	Answered bool   // it has an answer
	Version  int
}

// QueryCommand is what is asked of a query: to receive, grab, finish, fail, park or unpark it.
type QueryCommand struct {
	Name  string
	Lines int    // of the list that is received, or that have an answer
	Mail  bool   // a mail is asked for (receive), or was sent
	User  string // of the ticket
	Turn  int    // of the ticket that is grabbed
	Ring  int    // turn of the ring that the query leaves, 0 = it leaves none
}

// Do does a command to the query, and returns the row that it takes, none if it is refused.
func (q *Query) Do(c QueryCommand) (QueryRow, bool) {
	after, to, ok := *q, "", false
	switch c.Name {
	case "receive":
		to, ok = "received", q.State == "" && c.Lines > 0
		after.Lines, after.Mail, after.User = c.Lines, c.Mail, c.User
	case "grab":
		to, ok = "grabbed", q.State == "received" && c.User == q.User && c.Turn > 0 && c.Turn == c.Ring
	case "finish":
		to, ok = "answered", q.State == "grabbed" && c.Lines == q.Lines && c.Mail == q.Mail
		after.User, after.Answered = "", true
	case "fail":
		waits := q.State == "received"
		to, ok = "failed", (waits || q.State == "parked" || q.State == "grabbed") && (c.Ring > 0) == waits
		after.User = ""
	case "park":
		to, ok = "parked", q.State == "received"
		after.User = ""
	case "unpark":
		to, ok = "received", q.State == "parked"
		after.User = c.User
	}
	if !ok {
		return QueryRow{}, false
	}
	for _, r := range QueryRows {
		if r.From == q.State && r.To == to {
			after.State = to
			after.Version++
			*q = after
			return r, true
		}
	}
	return QueryRow{}, false
}
