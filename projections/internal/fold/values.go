package fold

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/accession-ingest/accession/domain"
)

// The helpers below translate between the domain's zero values and SQL's null.

// timeOrNull returns null for the zero time.
func timeOrNull(t domain.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t.Time
}

// timeOf is the inverse of timeOrNull.
func timeOf(t *time.Time) domain.Time {
	if t == nil {
		return domain.Time{}
	}
	return domain.At(*t)
}

// orNull returns null for the zero value.
func orNull[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

// textOrNull returns null for an empty word of the domain.
func textOrNull[S ~string](s S) *string { return orNull(string(s)) }

// value returns the zero value for null.
func value[T any](v *T) T {
	if v == nil {
		var zero T
		return zero
	}
	return *v
}

// reasonColumns are the columns reason_* of a table.
type reasonColumns struct {
	class, code, message, worker, host, whoActs *string
	attempt                                     *int64
}

func columnsOf(r *domain.Reason) reasonColumns {
	if r == nil {
		return reasonColumns{}
	}
	attempt, class, code, acts := int64(r.Attempt), string(r.Class), string(r.Code), string(r.WhoActs)
	return reasonColumns{class: &class, code: &code, message: &r.Message, worker: &r.Worker, host: &r.Host, whoActs: &acts, attempt: &attempt}
}

func (c reasonColumns) reason() *domain.Reason {
	if c.class == nil {
		return nil
	}
	return &domain.Reason{Class: domain.Class(*c.class), Code: domain.Code(value(c.code)),
		Message: value(c.message), Attempt: int(value(c.attempt)), Worker: value(c.worker),
		Host: value(c.host), WhoActs: domain.Acting(value(c.whoActs))}
}

// jsonOf encodes a value that is known to be encodable; a nil pointer is null.
func jsonOf[T any](v *T) json.RawMessage {
	if v == nil {
		return nil
	}
	data, err := json.Marshal(v)
	if err != nil {
		panic("projections: " + err.Error()) // plain structs of strings, numbers and times
	}
	return data
}

// texts returns the words of a list; never null.
func texts[S ~string](list []S) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = string(s)
	}
	return out
}

// keys returns the keys of a map in order, so that all projectors lock rows in the
// same order.
func keys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
