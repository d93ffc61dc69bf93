package proof

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Difference is one thing that is not as the log says.
type Difference struct {
	What  string // such as job/jid0000000042, or queue pending
	Where string // zookeeper, postgres, or log when the log itself cannot be folded
	Want  string // as the log has it, in JSON or in words
	Got   string
}

// String gives one line.
func (d Difference) String() string {
	return fmt.Sprintf("%s: %s has %s, the log says %s", d.What, d.Where, d.Got, d.Want)
}

// absent is how a missing aggregate is told.
const absent = "nothing"

// plain gives a value as JSON in which null, empty and missing are one: the three
// servers write them differently, and they mean the same.
func plain(v any) (string, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var tree any
	if err := dec.Decode(&tree); err != nil {
		return "", err
	}
	data, err = json.Marshal(prune(tree))
	return string(data), err
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
