package export

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/accession-ingest/accession/cmd/internal/app"
)

// EventRow is an event as a row: its data as JSON, and in columns of their own the
// states and the reason that nearly all events have. Columns have the names that they
// have in the history in PostgreSQL.
type EventRow struct {
	Seq           uint64    `parquet:"seq"`
	ID            string    `parquet:"id,zstd"`
	Type          string    `parquet:"type,dict"`
	Subject       string    `parquet:"subject,zstd"`
	Version       int64     `parquet:"version"`
	BatchID       string    `parquet:"batch_id,dict"`
	FromStatus    string    `parquet:"from_status,dict"`
	ToStatus      string    `parquet:"to_status,dict"`
	ReasonClass   string    `parquet:"reason_class,dict"`
	ReasonCode    string    `parquet:"reason_code,dict"`
	ReasonMessage string    `parquet:"reason_message,zstd"`
	Actor         string    `parquet:"actor,dict"`
	Time          time.Time `parquet:"time,timestamp(millisecond)"`
	Stored        time.Time `parquet:"stored,timestamp(microsecond)"`
	CommandID     string    `parquet:"command_id,zstd"`
	CausationID   string    `parquet:"causation_id,zstd"`
	TraceParent   string    `parquet:"trace_parent,zstd"`
	Zxid          int64     `parquet:"zxid"`
	Epoch         int64     `parquet:"epoch"`
	Source        string    `parquet:"source,dict"`
	DataSchema    string    `parquet:"dataschema,dict"`
	Data          string    `parquet:"data,json,zstd"`
}

// rowOf returns an event as a row.
func rowOf(e app.Event) (EventRow, error) {
	var data strings.Builder
	if err := NewJSONLines(&data).Write(e.Data); err != nil {
		return EventRow{}, fmt.Errorf("encode the data of event %s: %w", e.ID, err)
	}
	row := EventRow{Seq: e.Seq, ID: e.ID, Type: string(e.Type), Subject: e.Subject, Version: e.Version, BatchID: string(e.Batch),
		Actor: string(e.Actor), Time: e.Time.Time, Stored: e.Stored, CommandID: e.Command, CausationID: e.Cause,
		TraceParent: e.Trace, Zxid: e.Zxid, Epoch: e.Epoch, Source: e.Source, DataSchema: e.Schema, Data: strings.TrimSuffix(data.String(), "\n")}
	from, to, why := e.Move()
	row.FromStatus, row.ToStatus = from, to
	if why != nil {
		row.ReasonClass, row.ReasonCode, row.ReasonMessage = string(why.Class), string(why.Code), why.Message
	}
	return row, nil
}

// EventWriter writes events one by one. The output is complete after Close.
type EventWriter interface {
	Write(e app.Event) error
	Close() error
}

// The formats of events.
const (
	FormatJSONLines = "jsonl"
	FormatCSV       = "csv"
	FormatParquet   = "parquet"
)

// NewEventWriter returns a writer of events in one of the formats.
func NewEventWriter(w io.Writer, format string) (EventWriter, error) {
	switch format {
	case FormatJSONLines:
		return eventLines{NewJSONLines(w)}, nil
	case FormatCSV:
		c, err := NewCSV(w, "seq", "id", "type", "subject", "version", "batch_id", "from_status", "to_status",
			"reason_class", "reason_code", "reason_message", "actor", "time", "stored", "command_id", "causation_id",
			"trace_parent", "zxid", "epoch", "source", "dataschema", "data")
		return eventCSV{c}, err
	case FormatParquet:
		return &eventParquet{w: parquet.NewGenericWriter[EventRow](w, parquet.CreatedBy("accession", "", ""))}, nil
	default:
		return nil, fmt.Errorf("there is no format %q", format)
	}
}

type eventLines struct{ lines *JSONLines }

func (l eventLines) Write(e app.Event) error { return l.lines.Write(e) }
func (eventLines) Close() error              { return nil }

type eventCSV struct{ *CSV }

func (c eventCSV) Write(e app.Event) error {
	r, err := rowOf(e)
	if err != nil {
		return err
	}
	return c.Row(r.Seq, r.ID, r.Type, r.Subject, r.Version, r.BatchID, r.FromStatus, r.ToStatus, r.ReasonClass, r.ReasonCode,
		r.ReasonMessage, r.Actor, r.Time, r.Stored, r.CommandID, r.CausationID, r.TraceParent, r.Zxid, r.Epoch, r.Source,
		r.DataSchema, r.Data)
}

// rowsPerGroup is how many rows are kept in memory until they are written.
const rowsPerGroup = 5_000

type eventParquet struct {
	w    *parquet.GenericWriter[EventRow]
	rows [1]EventRow
	n    int
}

func (p *eventParquet) Write(e app.Event) (err error) {
	if p.rows[0], err = rowOf(e); err != nil {
		return err
	}
	if _, err := p.w.Write(p.rows[:]); err != nil {
		return err
	}
	if p.n++; p.n%rowsPerGroup == 0 {
		return p.w.Flush()
	}
	return nil
}

func (p *eventParquet) Close() error { return p.w.Close() }
