package wire

import (
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/synadia-io/orbit.go/jetstreamext"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore/codec"
	"github.com/accession-ingest/accession/eventstore/jslog"
	"github.com/accession-ingest/accession/internal/testkit/binarymode"
	"github.com/accession-ingest/accession/internal/testkit/cputime"
	"github.com/accession-ingest/accession/projections"
)

// BenchmarkEnvelopes measures each envelope so often, in turn, of so many events.
const (
	envelopeRounds = 5
	enveloped      = 30_000
)

// BenchmarkEnvelopes measures the two envelopes of an event side by side in one run, in
// turn: binary mode (fourteen headers), which older logs have, and structured mode (one
// body). The events are those of BenchmarkTables. Of each it prints the median, and last
// the median of the ratios structured/binary of each round.
func BenchmarkEnvelopes(b *testing.B) {
	for range b.N {
		events := lives(b, enveloped)[:enveloped]
		data, err := codec.SanitiseAll(events)
		if err != nil {
			b.Fatal(err)
		}
		modes := []*envelopeBench{{name: "binary", encode: binarymode.EncodeSanitised}, {name: "structured", encode: codec.EncodeSanitised}}
		for round := range envelopeRounds {
			for i := range modes {
				m := modes[(i+round)%len(modes)]
				m.w = newBenchTables(b, events)
				m.code(b, data)
				m.append(b, data)
				m.read(b)
				m.rebuild(b)
			}
		}
		for i, f := range modes[0].figures {
			ratios := make([]float64, envelopeRounds)
			for round := range ratios {
				ratios[round] = modes[1].figures[i].values[round] / f.values[round]
			}
			for _, m := range modes {
				b.ReportMetric(median(m.figures[i].values), m.name+"-"+f.name)
			}
			b.ReportMetric(median(ratios), "ratio-"+f.name)
		}
		b.ReportMetric(0, "ns/op")
	}
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

// envelopeBench measures one envelope.
type envelopeBench struct {
	name    string
	encode  func(r domain.Recorded, data []byte, instance string) (codec.Message, error)
	w       *benchTables // of this round
	figures []figure
}

// figure is what was measured in each round.
type figure struct {
	name   string
	values []float64
}

func (m *envelopeBench) report(name string, value float64) {
	i := slices.IndexFunc(m.figures, func(f figure) bool { return f.name == name })
	if i < 0 {
		i, m.figures = len(m.figures), append(m.figures, figure{name: name})
	}
	m.figures[i].values = append(m.figures[i].values, value)
}

// code measures encoding and decoding in memory, without the headers on the wire.
func (m *envelopeBench) code(b *testing.B, data [][]byte) {
	b.Helper()
	messages := make([]codec.Message, len(m.w.events))
	before := cputime.Now(b, os.Getpid())
	for i, r := range m.w.events {
		var err error
		if messages[i], err = m.encode(r, data[i], "bench"); err != nil {
			b.Fatal(err)
		}
	}
	m.report("encode-cpu-us", cputime.Per(cputime.Now(b, os.Getpid()).Since(before).Ours, enveloped))
	before = cputime.Now(b, os.Getpid())
	for _, msg := range messages {
		if _, err := codec.Decode(msg); err != nil {
			b.Fatal(err)
		}
	}
	m.report("decode-cpu-us", cputime.Per(cputime.Now(b, os.Getpid()).Since(before).Ours, enveloped))
}

// append sends the events as the log does, in atomic batches with the expected sequence
// of each subject.
func (m *envelopeBench) append(b *testing.B, data [][]byte) {
	b.Helper()
	js, err := jetstream.New(m.w.nc)
	if err != nil {
		b.Fatal(err)
	}
	before, began := cputime.Now(b, os.Getpid()), time.Now()
	last, seq := map[domain.Aggregate]uint64{}, uint64(0)
	for first := 0; first < len(m.w.events); first += jslog.MaxBatch {
		p, err := jetstreamext.NewBatchPublisher(js, jetstreamext.BatchFlowControl{AckFirst: false})
		if err != nil {
			b.Fatal(err)
		}
		expected := map[domain.Aggregate]bool{}
		for i, r := range m.w.events[first : first+jslog.MaxBatch] {
			e, err := m.encode(r, data[first+i], "bench")
			if err != nil {
				b.Fatal(err)
			}
			msg := &nats.Msg{Subject: m.w.stream.Name + "." + e.Subject, Header: e.Header, Data: e.Data}
			if !expected[r.Aggregate] {
				expected[r.Aggregate] = true
				msg.Header.Set(jetstream.ExpectedLastSubjSeqHeader, strconv.FormatUint(last[r.Aggregate], 10))
			}
			if seq++; i < jslog.MaxBatch-1 {
				err = p.AddMsg(msg)
			} else {
				_, err = p.CommitMsg(b.Context(), msg)
			}
			if last[r.Aggregate] = seq; err != nil {
				b.Fatal(err)
			}
		}
	}
	m.report("append/s", m.w.perSecond(time.Since(began)))
	cost := cputime.Now(b, os.Getpid()).Since(before)
	m.report("append-cpu-us", cputime.Per(cost.Ours, enveloped))
	m.report("append-nats-us", cputime.Per(cost.NATS, enveloped))
	m.w.stream.Last = enveloped
	s, err := js.Stream(b.Context(), m.w.stream.Name)
	if err != nil || s.CachedInfo().State.LastSeq != enveloped {
		b.Fatal(s.CachedInfo().State, err)
	}
	m.report("bytes", float64(s.CachedInfo().State.Bytes)/enveloped)
}

// read reads the log as projections and rebuilds do.
func (m *envelopeBench) read(b *testing.B) {
	b.Helper()
	before := cputime.Now(b, os.Getpid())
	m.report("read/s", m.w.perSecond(m.w.readDecoded(b)))
	cost := cputime.Now(b, os.Getpid()).Since(before)
	m.report("read-cpu-us", cputime.Per(cost.Ours, enveloped))
	m.report("read-nats-us", cputime.Per(cost.NATS, enveloped))
}

// rebuild fills the tables and rebuilds them.
func (m *envelopeBench) rebuild(b *testing.B) {
	b.Helper()
	p, err := projections.New(projections.Config{DB: m.w.db, Stream: m.w.stream, MaxBatch: jslog.MaxBatch,
		Source: sourceOf(m.w.log, false)})
	if err == nil {
		err = p.Run(b.Context())
	}
	if err != nil {
		b.Fatal(err)
	}
	before := cputime.Now(b, os.Getpid())
	replayed, rebuilt := m.w.rebuild(b)
	cost := cputime.Now(b, os.Getpid()).Since(before)
	m.report("replay/s", replayed)
	m.report("rebuild/s", rebuilt)
	m.report("rebuild-cpu-us", cputime.Per(cost.Ours, enveloped))
}
