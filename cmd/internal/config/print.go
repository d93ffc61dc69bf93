package config

import (
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"
)

// Row is one setting for people to see.
type Row struct {
	Key    string `json:"key"`
	Value  string `json:"value"`  // as it is written, without passwords
	Origin string `json:"origin"` // default, file …, environment …, flag
}

// Rows returns every setting in its order.
func (r Resolved) Rows() []Row {
	v := reflect.ValueOf(r.Config)
	rows := make([]Row, len(settings))
	for i, s := range settings {
		rows[i] = Row{Key: s.key, Value: show(v.Field(s.index).Interface(), s.secret), Origin: r.origins[s.key]}
	}
	return rows
}

func show(value any, secret bool) string {
	switch v := value.(type) {
	case []string:
		shown := make([]string, len(v))
		for i, s := range v {
			shown[i] = show(s, secret)
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
		return v
	default:
		return fmt.Sprint(v)
	}
}

// redactURL returns a URL without what may be secret: the password, and the values of
// parameters. A plain path stays as it is.
func redactURL(s string) string {
	if !strings.Contains(s, ":") && !strings.Contains(s, "@") {
		return s
	}
	u, err := url.Parse(s)
	if err != nil {
		return "(hidden: not a URL)"
	}
	q := u.Query()
	for name, values := range q {
		if harmless[name] {
			continue
		}
		for i := range values {
			values[i] = "xxxxx"
		}
	}
	u.RawQuery = q.Encode()
	if _, has := u.User.Password(); !has && u.User != nil && !strings.HasPrefix(u.Scheme, "postgres") {
		u.User = url.User("xxxxx") // a NATS token is written in place of the user
	}
	return u.Redacted()
}

// harmless are the parameters that hold no secret and help to find a mistake.
var harmless = map[string]bool{"sslmode": true, "host": true, "dbname": true, "region": true, "endpoint": true}

// Key describes a setting.
type Key struct {
	Key     string
	Default string // as it is written; "" = none, or derived from another setting
	Bounds  string // such as 1 to 64; "" = none
	Secret  bool   // may hold a password
}

// Keys returns all settings in their order.
func Keys() []Key {
	keys := make([]Key, len(settings))
	for i, s := range settings {
		keys[i] = Key{Key: s.key, Default: s.preset, Secret: s.secret}
		if s.max != "" {
			keys[i].Bounds = s.min + " to " + s.max
		}
	}
	return keys
}
