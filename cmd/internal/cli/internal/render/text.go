package render

import (
	"fmt"
	"time"

	"github.com/vbauerster/mpb/v8/decor"

	"github.com/accession-ingest/accession/cmd/internal/export"
)

// Time formats a time: in the local zone, to the second.
func Time[T interface {
	IsZero() bool
	Local() time.Time
}](t T) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format(time.DateTime)
}

// Deref returns what v points to, or the zero value.
func Deref[T any](v *T) (zero T) {
	if v == nil {
		return zero
	}
	return *v
}

// Or returns what v points to, or none.
func Or[T any](v *T, none string) any {
	if v == nil {
		return none
	}
	return *v
}

// Reason formats a reason, "" when there is none.
func Reason(code, message *string) string {
	if code == nil {
		return ""
	}
	return *code + ": " + export.Line(Deref(message))
}

// ClassifiedReason is Reason with the reason's class.
func ClassifiedReason(code, class, message *string) string {
	if code == nil {
		return ""
	}
	return fmt.Sprintf("%s (%s): %s", *code, Deref(class), export.Line(Deref(message)))
}

// Change formats a change of state; the first one has no state before it.
func Change(from, to string) string {
	if from == "" {
		from = "–"
	}
	return from + " → " + to
}

// Seconds formats how long a state lasted, "" when that is not known.
func Seconds(seconds *float64) string {
	if seconds == nil {
		return ""
	}
	return fmt.Sprintf("%.3f s", *seconds)
}

// Duration formats a duration with the precision that people want.
func Duration(d time.Duration) string {
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

// Size formats a number of bytes.
func Size(n int64) string {
	if n < 1<<10 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("% .1f", decor.SizeB1024(n))
}

// Version formats an object that a job has stored: with the version, when the job has
// added one.
func Version(version int, primary string) string {
	if version < 2 {
		return export.Line(primary)
	}
	return fmt.Sprintf("version %d of %s", version, export.Line(primary))
}
