package jslog_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/relay"
)

// BenchmarkAppend gives events a second, one writer, batches of the given size.
func BenchmarkAppend(b *testing.B) {
	for _, size := range []int{1, 100, 1000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			l := open(b)
			ctx := within(b, 10*time.Minute)
			list := make([]eventstore.Append, size)
			n := int64(0)
			for b.Loop() {
				for i := range list {
					n++
					list[i] = eventstore.Append{Event: event(n, 1)}
				}
				if _, err := l.Append(ctx, list); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N*size)/b.Elapsed().Seconds(), "events/s")
		})
	}
}

const benched = 20_000

// BenchmarkRead gives events a second of a whole read.
func BenchmarkRead(b *testing.B) {
	l := open(b)
	fill(b, l)
	ctx := within(b, 10*time.Minute)
	for b.Loop() {
		n := 0
		for _, err := range l.Read(ctx, eventstore.ReadOptions{}) {
			if n++; err != nil {
				b.Fatal(err)
			}
		}
		if n != benched {
			b.Fatalf("%d events", n)
		}
	}
	b.ReportMetric(float64(b.N*benched)/b.Elapsed().Seconds(), "events/s")
}

func fill(b *testing.B, l eventstore.Log) {
	for n := int64(0); n < benched; n += 1000 {
		var list []eventstore.Append
		for i := range int64(1000) {
			list = append(list, eventstore.Append{Event: event(n+i+1, 1)})
		}
		mustAppend(b, l, list...)
	}
}

// BenchmarkRelay gives events a second of a relay over a full outbox of one
// shard, four events a job.
func BenchmarkRelay(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		o := newFullOutbox(benched/4, 4)
		l := open(b)
		ctx, stop := context.WithCancel(within(b, 10*time.Minute))
		r := &relay.Relay{Outbox: o, Log: l, Logger: slog.New(slog.DiscardHandler)}
		b.StartTimer()
		ended := make(chan error, 1)
		go func() { ended <- r.Run(ctx) }()
		<-o.end
		b.StopTimer()
		stop()
		if err := <-ended; err != nil {
			b.Fatal(err)
		}
		if info, err := l.Info(within(b, 10*time.Second)); err != nil || info.Last != benched {
			b.Fatalf("%d events in the log, %v", info.Last, err)
		}
		b.StartTimer()
	}
	b.ReportMetric(float64(b.N*benched)/b.Elapsed().Seconds(), "events/s")
}

// fullOutbox holds what it was made with; end is closed when all is sent.
type fullOutbox struct {
	items []eventstore.Item
	end   chan struct{}
}

// newFullOutbox holds jobs with some events each, number by number.
func newFullOutbox(jobs, versions int64) *fullOutbox {
	o := &fullOutbox{end: make(chan struct{})}
	for v := int64(1); v <= versions; v++ {
		for n := range jobs {
			pos := eventstore.Offset{Seq: int64(len(o.items) + 1)}
			o.items = append(o.items, eventstore.Item{Offset: pos, Events: []domain.Recorded{event(n+1, v)}})
		}
	}
	return o
}

func (o *fullOutbox) Shards() int { return 1 }

func (o *fullOutbox) Lead(ctx context.Context, _ int) (context.Context, func(), error) {
	return ctx, func() {}, nil
}

func (o *fullOutbox) Mark(context.Context, int) (eventstore.Mark, error) {
	return eventstore.Mark{}, nil
}

func (o *fullOutbox) Read(_ context.Context, _ int, after eventstore.Offset, limit int) ([]eventstore.Item, error) {
	left := o.items[after.Seq:]
	return left[:min(limit, len(left))], nil
}

func (o *fullOutbox) Wait(ctx context.Context, _ int, _ eventstore.Offset) error {
	<-ctx.Done()
	return nil
}

func (o *fullOutbox) MoveMark(_ context.Context, _ int, upTo eventstore.Mark) error {
	if upTo.Offset.Seq == int64(len(o.items)) {
		close(o.end)
	}
	return nil
}

func (o *fullOutbox) Depth(context.Context) (eventstore.OutboxDepth, error) {
	return eventstore.OutboxDepth{}, nil
}
