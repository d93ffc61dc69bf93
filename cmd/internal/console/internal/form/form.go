// Package form has the fields of the forms by which actions ask for what they need, reads what was
// written in them, and writes addresses as a form does.
package form

import (
	"crypto/rand"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Field is a field of a form.
type Field struct {
	Name, Label, Note string
	// Kind is choice, choices, lines, check, date, number, moment, password, hidden, text or json, which
	// have many lines, or "", a text of one.
	Kind    string
	Choices []string
	Values  []string
	Most    int // how long it may be, in characters
	Needed  bool
}

// Value returns the only value.
func (f Field) Value() string {
	if len(f.Values) == 0 {
		return ""
	}
	return f.Values[0]
}

// Has reports whether a choice is made.
func (f Field) Has(choice string) bool { return slices.Contains(f.Values, choice) }

// Filled returns fields with values. Hidden ones keep theirs if there are no others.
func Filled(fields []Field, values url.Values) []Field {
	all := slices.Clone(fields)
	for i := range all {
		if given, are := values[all[i].Name]; are || all[i].Kind != "hidden" {
			all[i].Values = given
		}
	}
	return all
}

// Placeholder stands for secrets in a preview: it fulfils every rule, and is known to no one.
func Placeholder(secrets []Field) url.Values {
	all, text := url.Values{}, rand.Text()
	for _, s := range secrets {
		all.Set(s.Name, text)
	}
	return all
}

// Text returns a value without the space around it.
func Text(given url.Values, name string) string { return strings.TrimSpace(given.Get(name)) }

// Lines returns the lines of a value that are not empty.
func Lines(given url.Values, name string) (all []string) {
	for line := range strings.SplitSeq(given.Get(name), "\n") {
		if line = strings.TrimSpace(line); line != "" {
			all = append(all, line)
		}
	}
	return all
}

// Moment returns the moment that an address names, as the API takes it: a day and time without a
// zone is of UTC.
func Moment(of url.Values) (all url.Values) {
	all = url.Values{}
	at := strings.TrimSpace(of.Get("at"))
	if at == "" {
		return all
	}
	if _, err := strconv.ParseUint(at, 10, 64); err != nil {
		at = strings.Replace(at, " ", "T", 1)
		switch len(at) {
		case len("2006-01-02"):
			at += "T00:00:00Z"
		case len("2006-01-02T15:04"):
			at += ":00Z"
		case len("2006-01-02T15:04:05"):
			at += "Z"
		}
	}
	all.Set("at", at)
	return all
}

// Address returns an address with one parameter set, "" = without it.
func Address(path string, query url.Values, name, value string) string {
	all := url.Values{}
	for n, values := range query {
		if n != name && values[0] != "" {
			all[n] = values
		}
	}
	if value != "" {
		all.Set(name, value)
	}
	if len(all) == 0 {
		return path
	}
	return path + "?" + all.Encode()
}
