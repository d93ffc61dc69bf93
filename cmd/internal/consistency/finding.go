package consistency

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/accession-ingest/accession/domain"
)

// Severity says who can put a finding right.
type Severity string

// The severities.
const (
	Repairable Severity = "repairable" // Repair can
	Person     Severity = "person"     // somebody has to look
)

// Places where a finding was made.
const (
	InZooKeeper = "zookeeper"
	InPostgres  = "postgres"
	InLog       = "log"
	InWorkDir   = "work_dir"
)

// Finding is one thing that is not as it should be.
type Finding struct {
	Code     domain.Code `json:"code"`
	Severity Severity    `json:"severity"`
	In       string      `json:"in"`
	Subject  string      `json:"subject"` // the aggregate, such as job/jid0000000042, "" = it belongs to none
	Where    string      `json:"where"`   // node, table, place in the log, or directory
	Want     string      `json:"want"`    // in JSON or in words
	Got      string      `json:"got"`
	Remedy   string      `json:"remedy"`

	remove func() error // what lies outside of the live state is removed by this
}

// String gives one line.
func (f Finding) String() string {
	subject := f.Subject
	if subject == "" {
		subject = f.Where
	} else if f.Where != "" {
		subject += " (" + f.Where + ")"
	}
	return fmt.Sprintf("%s: %s: %s has %s, want %s", f.Code, subject, f.In, f.Got, f.Want)
}

// absent is how a missing thing is told.
const absent = "nothing"

// plain gives JSON in which null, empty and missing are one: the three servers
// write them differently, and they mean the same. What is no JSON stays.
func plain(data []byte) string {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var tree any
	if dec.Decode(&tree) != nil || dec.More() {
		return string(data)
	}
	out, err := json.Marshal(prune(tree))
	if err != nil {
		return string(data)
	}
	return string(out)
}

// plainOf is plain for a value.
func plainOf(v any) (string, error) {
	data, err := json.Marshal(v)
	return plain(data), err
}

func prune(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, item := range v {
			if item = prune(item); item == nil {
				delete(v, k)
			} else {
				v[k] = item
			}
		}
		if len(v) == 0 {
			return nil
		}
	case []any:
		if len(v) == 0 {
			return nil
		}
	case string:
		if v == "" {
			return nil
		}
	}
	return v
}

// narrow shortens two objects to the fields in which they differ, for people.
func narrow(a, b string) (shortA, shortB string) {
	var x, y map[string]any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		return a, b
	}
	for k := range x {
		p, _ := json.Marshal(x[k])
		q, _ := json.Marshal(y[k])
		if _, both := y[k]; both && bytes.Equal(p, q) {
			delete(x, k)
			delete(y, k)
		}
	}
	p, _ := json.Marshal(x)
	q, _ := json.Marshal(y)
	return string(p), string(q)
}
