package record_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/domain"
)

// TestEffect: an effect is begun as often as it takes and has one result.
// Shows: P5
func TestEffect(t *testing.T) {
	t.Parallel()
	r, ctx := open(t), context.Background()
	key := record.EffectKey(domain.NewJobID(7), 3, "store")
	if key != "jid0000000007/3/store" {
		t.Fatal(key)
	}
	if _, err := r.FinishEffect(ctx, key, 1); code(err) != record.CodeNotFound {
		t.Errorf("finished before it began: %v", err)
	}
	var last time.Time
	for n := 1; n <= 2; n++ {
		e, err := r.BeginEffect(ctx, key, "store")
		if err != nil || e.Done || e.Begun != n || e.Result != nil || !e.Now.After(last) {
			t.Fatalf("%+v %v", e, err)
		}
		last = e.Now
	}
	results := make([]string, 20)
	each(len(results), func(i int) {
		e, err := r.FinishEffect(ctx, key, map[string]int{"n": i})
		if err != nil || !e.Done {
			t.Error(e, err)
		}
		results[i] = string(e.Result)
	})
	e, err := r.BeginEffect(ctx, key, "store")
	if err != nil || !e.Done || e.Begun != 2 { // who asks for the result begins nothing
		t.Fatal(e, err)
	}
	for _, got := range results {
		if got != string(e.Result) {
			t.Fatalf("several results: %v", results)
		}
	}
}

// TestAcceptedEffect: what a service has promised is kept until it is taken back, or done.
func TestAcceptedEffect(t *testing.T) {
	t.Parallel()
	r, ctx := open(t), context.Background()
	key := record.EffectKey(domain.NewJobID(7), 3, "recording")
	if _, err := r.AcceptEffect(ctx, key, 1); code(err) != record.CodeNotFound {
		t.Errorf("accepted before it began: %v", err)
	}
	begin := func() record.Effect {
		t.Helper()
		e, err := r.BeginEffect(ctx, key, record.EffectRecord)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	begin()
	for _, c := range []struct {
		accepted any
		want     string
	}{{1, "1"}, {"x", `"x"`}, {nil, ""}, {2, "2"}} {
		if _, err := r.AcceptEffect(ctx, key, c.accepted); err != nil {
			t.Fatal(err)
		}
		if e := begin(); string(e.Accepted) != c.want || e.Done {
			t.Errorf("%v: %+v", c.accepted, e)
		}
	}
	if _, err := r.FinishEffect(ctx, key, 3); err != nil {
		t.Fatal(err)
	}
	if _, err := r.AcceptEffect(ctx, key, 4); err != nil {
		t.Fatal(err)
	}
	if e := begin(); !e.Done || string(e.Accepted) != "2" || string(e.Result) != "3" {
		t.Errorf("%+v", e)
	}
}

// TestDelivery: what has arrived stays delivered; what has not can be tried again.
// Shows: P6
func TestDelivery(t *testing.T) {
	t.Parallel()
	r, ctx := open(t), context.Background()
	m := record.Message{Key: "k", Channel: record.ChannelMail, About: "report", Batch: domain.NewBatchID(1), Recipients: []string{"eve@files.test"}}
	steps := []struct {
		failure  error
		final    bool
		state    record.DeliveryState
		attempts int
		text     string
	}{
		{errors.New("451 \xff\x00 later"), false, record.DeliveryPending, 1, "later"},
		{errors.New(strings.Repeat("é", 3000)), true, record.DeliveryFailed, 2, "é …"},
		{nil, false, record.DeliveryDelivered, 3, ""},
		{errors.New("too late"), true, record.DeliveryDelivered, 3, ""},
	}
	if err := r.EndDelivery(ctx, m.Key, nil, false); code(err) != record.CodeNotFound {
		t.Errorf("ended before it began: %v", err)
	}
	for i, s := range steps {
		before, err := r.BeginDelivery(ctx, m)
		if err != nil || before.Attempts != s.attempts {
			t.Fatalf("step %d: %+v %v", i, before, err)
		}
		if err := r.EndDelivery(ctx, m.Key, s.failure, s.final); err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
		d, err := r.Delivery(ctx, m.Key)
		if err != nil || d.State != s.state || d.Attempts != s.attempts || !strings.HasSuffix(d.LastError, s.text) {
			t.Fatalf("step %d: %+v %v", i, d, err)
		}
		if d.DeliveredAt.IsZero() != (s.state != record.DeliveryDelivered) {
			t.Errorf("step %d: delivered at %v", i, d.DeliveredAt)
		}
	}
	all, err := r.BatchDeliveries(ctx, domain.NewBatchID(1))
	if err != nil || len(all) != 1 || fmt.Sprint(all[0].Message) != fmt.Sprint(m) {
		t.Errorf("of the batch: %v %v", all, err)
	}
}

// TestCallbacksOfABatch: first what has not arrived, then what has, newest first, and no mail and
// nothing of another batch.
func TestCallbacksOfABatch(t *testing.T) {
	t.Parallel()
	r, ctx := open(t), t.Context()
	for _, m := range []struct {
		key     string
		channel record.Channel
		batch   int64
		failure error
	}{
		{"first", record.ChannelCallback, 1, nil}, {"failed", record.ChannelCallback, 1, errors.New("the receiver answered 500")}, {"second", record.ChannelCallback, 1, nil},
		{"mail", record.ChannelMail, 1, nil}, {"other", record.ChannelCallback, 2, nil},
	} {
		if _, err := r.BeginDelivery(ctx, record.Message{Key: m.key, Channel: m.channel, About: "job", Batch: domain.NewBatchID(m.batch), Job: "jid0000000001", Recipients: []string{"https://example.org/done"}}); err != nil {
			t.Fatal(err)
		}
		if err := r.EndDelivery(ctx, m.key, m.failure, true); err != nil {
			t.Fatal(err)
		}
	}
	for most, want := range map[int32][]string{9: {"failed", "second", "first"}, 2: {"failed", "second"}, 1: {"failed"}} {
		all, err := r.BatchCallbacks(ctx, domain.NewBatchID(1), most)
		var got []string
		for _, d := range all {
			got = append(got, d.Key)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("the first %d: %v %v, want %v", most, got, err, want)
		}
	}
}

// TestFault: who must act, and whether it makes sense to try again.
func TestFault(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err   record.Error
		class domain.Class
		again bool
	}{
		{record.Error{Code: record.CodeUnavailable}, domain.ClassSystem, true},
		{record.Error{Code: record.CodeBroken}, domain.ClassSystem, true},
		{record.Error{Code: record.CodeBroken, Err: &pgconn.PgError{Code: "42P01"}}, domain.ClassSystem, true},  // a table is missing
		{record.Error{Code: record.CodeBroken, Err: &pgconn.PgError{Code: "22003"}}, domain.ClassSystem, false}, // a number is too large
		{record.Error{Code: record.CodeIdentifierMismatch}, domain.ClassContent, false},
	} {
		again, _ := c.err.Retry()
		if r := c.err.Reason(); r.Class != c.class || r.Code != c.err.Code || again != c.again {
			t.Errorf("%+v %v", r, again)
		}
	}
	r := open(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := r.ReserveIdentifier(ctx, domain.NewJobID(1), "n"); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled call: %v", err)
	}
}
