package intake

import (
	"context"
	"errors"
	"testing"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/fair/settings"
	"github.com/accession-ingest/accession/eventstore"
)

// closed are deposit queues of which one is closed to all, and one to ana.
type closed struct{ eventstore.DepositQueues }

// QueueSettings implements eventstore.DepositQueues.
func (closed) QueueSettings(_ context.Context, queue string) (eventstore.QueueSettings, error) {
	set := settings.New()
	switch queue {
	case "query":
		set.Queue.Closed = "not now"
		set.Limits["bob"] = domain.UserLimit{User: "bob", Closed: "call us"}
	case "metadata":
		set.Limits["ana"] = domain.UserLimit{User: "ana", Closed: "not you"}
	default:
		return eventstore.QueueSettings{}, eventstore.ErrBroken
	}
	return eventstore.QueueSettings{Set: set}, nil
}

// TestAdmit: a closed intake refuses with its message, of one user or of all, but for what
// was accepted before.
func TestAdmit(t *testing.T) {
	t.Parallel()
	open := func(context.Context) (eventstore.DepositQueues, error) { return closed{}, nil }
	for _, c := range []struct {
		queue, user string
		accepted    bool
		says        string
	}{
		{"metadata", "bob", false, ""}, {"metadata", "ana", false, "not you"}, {"metadata", "ana", true, ""},
		{"query", "ana", false, "not now"}, {"query", "bob", false, "call us"}, {"query", "bob", true, ""},
	} {
		err := Admit(t.Context(), open, c.queue, c.user, c.accepted)
		fault, _ := errors.AsType[*eventstore.ClosedError](err)
		if (c.says == "") != (err == nil) || c.says != "" && (fault == nil || fault.Message != c.says || fault.Queue != c.queue) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if err := Admit(t.Context(), open, "broken", "ana", false); !errors.Is(err, eventstore.ErrBroken) {
		t.Error(err)
	}
	away := func(context.Context) (eventstore.DepositQueues, error) { return nil, eventstore.ErrUnknown }
	if err := Admit(t.Context(), away, "metadata", "ana", false); !errors.Is(err, eventstore.ErrUnknown) {
		t.Error(err)
	}
}
