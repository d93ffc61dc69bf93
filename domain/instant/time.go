// Package instant has the times of this project: UTC with milliseconds.
package instant

import (
	"fmt"
	"time"
)

// timeLayout is RFC 3339 in UTC with milliseconds, the one form in which times
// are written.
const timeLayout = "2006-01-02T15:04:05.000Z"

// Time is an instant in UTC with millisecond resolution. Its zero value is
// written as null.
type Time struct{ time.Time }

// At rounds t down to the resolution of [Time].
func At(t time.Time) Time {
	if t.IsZero() {
		return Time{}
	}
	return Time{t.UTC().Truncate(time.Millisecond)}
}

// String returns RFC 3339 with milliseconds, or "" for the zero value.
func (t Time) String() string {
	if t.IsZero() {
		return ""
	}
	return t.Format(timeLayout)
}

// MarshalJSON implements json.Marshaler.
func (t Time) MarshalJSON() ([]byte, error) {
	if t.IsZero() {
		return []byte("null"), nil
	}
	return t.AppendFormat(make([]byte, 0, len(timeLayout)+2), `"`+timeLayout+`"`), nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *Time) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*t = Time{}
		return nil
	}
	parsed, err := time.Parse(`"`+time.RFC3339Nano+`"`, string(b))
	if err != nil {
		return fmt.Errorf("time %s is not RFC 3339: %w", b, err)
	}
	*t = At(parsed)
	return nil
}
