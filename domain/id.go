package domain

import (
	"fmt"
	"strconv"
	"strings"
)

// Kind names a sort of aggregate.
type Kind string

// The kinds of aggregate.
const (
	KindBatch   Kind = "batch"
	KindJob     Kind = "job"
	KindFile    Kind = "file"
	KindSetting Kind = "setting"
	KindQuery   Kind = "query"
	KindSlot    Kind = "slot"
	KindEntry   Kind = "entry"
)

// OfLog reports whether aggregates of the kind are in the log only, without live state.
func (k Kind) OfLog() bool { return k == KindFile || k == KindSlot }

// Aggregate names one aggregate: its kind and its id within the kind.
type Aggregate struct {
	Kind Kind
	ID   string
}

// String returns the form used as event subject, such as job/jid0000000042.
func (a Aggregate) String() string { return string(a.Kind) + "/" + a.ID }

// ParseAggregate is the inverse of [Aggregate.String].
func ParseAggregate(s string) (Aggregate, error) {
	kind, id, ok := strings.Cut(s, "/")
	switch Kind(kind) {
	case KindBatch, KindJob, KindFile, KindSetting, KindQuery, KindSlot, KindEntry:
		if ok && id != "" {
			return Aggregate{Kind: Kind(kind), ID: id}, nil
		}
	}
	return Aggregate{}, fmt.Errorf("%q does not name an aggregate: want kind/id, for example job/jid0000000042", s)
}

// BatchID is "bid" and ten digits.
type BatchID string

// JobID is "jid" and ten digits.
type JobID string

const (
	idDigits = 10
	// MaxID is the largest number an id can carry.
	MaxID = 9_999_999_999
)

// NewBatchID returns the id of the n-th batch, n from 1 to MaxID.
func NewBatchID(n int64) BatchID { return BatchID(formatID("bid", n)) }

// NewJobID returns the id of the n-th job, n from 1 to MaxID.
func NewJobID(n int64) JobID { return JobID(formatID("jid", n)) }

func formatID(prefix string, n int64) string { return fmt.Sprintf("%s%0*d", prefix, idDigits, n) }

// ParseBatchID checks that s is a batch id.
func ParseBatchID(s string) (BatchID, error) { return parseID[BatchID]("bid", s) }

// ParseJobID checks that s is a job id.
func ParseJobID(s string) (JobID, error) { return parseID[JobID]("jid", s) }

func parseID[ID ~string](prefix, s string) (ID, error) {
	if number(prefix, s) == 0 {
		return "", fmt.Errorf("%q is not an id: want %s and %d digits, for example %s", s, prefix, idDigits, formatID(prefix, 42))
	}
	return ID(s), nil
}

// number returns the number in an id, 0 if it is malformed.
func number(prefix, s string) int64 {
	digits, ok := strings.CutPrefix(s, prefix)
	if !ok || len(digits) != idDigits || strings.Trim(digits, "0123456789") != "" {
		return 0
	}
	n, _ := strconv.ParseInt(digits, 10, 64) // ten digits always fit
	return n
}

// Number returns the number in the id, 0 if it is malformed.
func (id BatchID) Number() int64 { return number("bid", string(id)) }

// Number returns the number in the id, 0 if it is malformed.
func (id JobID) Number() int64 { return number("jid", string(id)) }

// Plus returns the id whose number is greater by n.
func (id JobID) Plus(n int) JobID { return NewJobID(id.Number() + int64(n)) }

// Aggregate names the batch as an aggregate.
func (id BatchID) Aggregate() Aggregate { return Aggregate{Kind: KindBatch, ID: string(id)} }

// Aggregate names the job as an aggregate.
func (id JobID) Aggregate() Aggregate { return Aggregate{Kind: KindJob, ID: string(id)} }
