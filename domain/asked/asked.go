// Package asked has what users ask in queries and what they are answered, as events and the
// live state hold it.
package asked

// The formats of the report of a query; "" is text.
const (
	FormatText = "text"
	FormatCSV  = "csv"
	FormatJSON = "json"
	FormatHTML = "html"
)

// Formats are the formats.
var Formats = []string{FormatText, FormatCSV, FormatJSON, FormatHTML}

// State is the status of a query; package lookup has the table of its transitions.
type State string

// The states of a query. None is the state before the first event.
const (
	None     State = ""
	Received State = "received" // it waits in its deposit queue
	Parked   State = "parked"
	Grabbed  State = "grabbed" // a processor answers it
	Answered State = "answered"
	Failed   State = "failed"
)

// Ended reports whether nothing changes a query in this state any more.
func (s State) Ended() bool { return s == Answered || s == Failed }

// Request is what is asked: the data of /queries/QID/request.
type Request struct {
	Submitter  string `json:"submitter"`
	FileName   string `json:"file_name,omitempty"` // of the list
	ListURL    string `json:"list_url"`            // in the object store
	ListSHA256 string `json:"list_sha256"`
	Size       int64  `json:"size"`  // of the list, in bytes
	Lines      int    `json:"lines"` // that ask for something
	Wrong      int    `json:"wrong"` // of them
	// Format is that of the report: text, csv, json or html; "" = text.
	Format     string `json:"format,omitempty"`
	Recipients int    `json:"recipients,omitempty"` // of the mail with the report, 0 = none is sent
	// Within limits what is found to what the submitter was allowed to see; nil = everything.
	Within *Within `json:"within,omitempty"`
}

// Within is where something is found.
type Within struct {
	Collections []string `json:"collections,omitempty"`
	Own         bool     `json:"own,omitempty"` // what the submitter has deposited, in every collection
}

// Answer counts the lines of a query by their outcome, and names the answers.
type Answer struct {
	Found    int    `json:"found"`
	NotFound int    `json:"not_found"`
	Wrong    int    `json:"wrong"`
	URL      string `json:"url"` // in the object store, one answer a line
	SHA256   string `json:"sha256"`
}
