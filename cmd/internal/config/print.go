package config

import (
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/accession-ingest/accession/domain/text"
)

// Row is one setting for people to see.
type Row struct {
	ID string `json:"id"` // its key
	Key
	Value  string `json:"value"`  // as it is written, without passwords
	Origin string `json:"origin"` // default, file …, environment …, flag
}

// Rows returns every setting in its order.
func (r Resolved) Rows() []Row {
	v := reflect.ValueOf(r.Config)
	rows := make([]Row, len(settings))
	for i, s := range settings {
		rows[i] = Row{ID: s.key, Key: s.described(), Value: show(v.Field(s.index).Interface(), s.secret), Origin: r.origins[s.key]}
	}
	return rows
}

func show(value any, secret bool) string {
	switch v := value.(type) {
	case []string:
		shown := make([]string, len(v))
		for i, s := range v {
			// A comma may have been part of a password: the parts mean nothing then.
			if shown[i] = show(s, secret); shown[i] == hidden {
				return hidden
			}
		}
		return strings.Join(shown, ",")
	case map[string]int:
		var pairs []string
		for _, k := range slices.Sorted(maps.Keys(v)) {
			pairs = append(pairs, fmt.Sprintf("%s=%d", k, v[k]))
		}
		return strings.Join(pairs, ",")
	case string:
		if secret {
			return redactURL(v)
		}
		return redactText(v)
	default:
		return redactText(fmt.Sprint(v))
	}
}

// hidden is shown for a value that may hold a password anywhere.
const hidden = "(hidden: not a URL)"

// looksSecret matches texts that are out of place in a setting without secrets: the value
// of another setting was put there.
var looksSecret = regexp.MustCompile(`(?i)@|\b(password|passwd|pwd|pass|secret|token|credential)s?\b["']?\s*[=:]`)

// redactText returns the text of a setting that is no secret, unless it looks like one.
func redactText(s string) string {
	if looksSecret.MatchString(s) {
		return hidden
	}
	return text.Line(s)
}

// isPath matches an absolute path, the only form of a secret setting besides a URL.
var isPath = regexp.MustCompile(`^/[^:@?=]*$`)

// redactURL returns a URL without what may be secret: the password, the fragment, and
// the values of parameters. An absolute path stays as it is; of anything else nothing is
// shown, since a password may stand anywhere in it.
func redactURL(s string) string {
	if s == "" || isPath.MatchString(s) {
		return s
	}
	u, err := url.Parse(s)
	if err != nil || u.Scheme == "" || u.Opaque != "" || !strings.Contains(s, "://") || strings.ContainsAny(u.Host+u.Path, "@= ") {
		return hidden
	}
	q := u.Query()
	for name, values := range q {
		for i, v := range values {
			if !harmless[name] || strings.ContainsAny(v, "@?") {
				values[i] = "xxxxx"
			}
		}
	}
	u.RawQuery, u.Fragment, u.RawFragment = q.Encode(), "", ""
	if _, has := u.User.Password(); !has && u.User != nil && !strings.HasPrefix(u.Scheme, "postgres") {
		u.User = url.User("xxxxx") // a NATS token is written in place of the user
	}
	return text.Line(u.Redacted())
}

// harmless are the parameters that hold no secret and help to find a mistake.
var harmless = map[string]bool{"sslmode": true, "host": true, "dbname": true, "region": true, "endpoint": true}

// Key describes a setting.
type Key struct {
	Name    string `json:"key"`
	Default string `json:"default,omitempty"` // as it is written; "" = none, or derived from another setting
	Bounds  string `json:"bounds,omitempty"`  // such as 1 to 64; "" = none
	Secret  bool   `json:"secret,omitempty"`  // may hold a password
}

func (s setting) described() Key {
	k := Key{Name: s.key, Default: s.preset, Secret: s.secret}
	if s.max != "" {
		k.Bounds = s.min + " to " + s.max
	}
	return k
}
