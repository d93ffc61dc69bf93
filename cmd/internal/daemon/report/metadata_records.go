package report

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/accession-ingest/accession/cmd/internal/daemon/payload"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/metadata"
	shown "github.com/accession-ingest/accession/domain/text"
)

// MetadataRecords are those of a metadata deposit, as its report has them.
type MetadataRecords struct {
	Success int    `json:"success"`
	Warning int    `json:"warning"`
	Failure int    `json:"failure"`
	URL     string `json:"url"` // of the list of all, one JSON object in each line
	// Worst are up to 200 records: those with a failure first, then those with a warning.
	Worst []metadata.Record `json:"worst"`
}

// MetadataKey returns the key under which the results of the records of a batch are kept.
func MetadataKey(b domain.BatchID) string { return "records/" + string(b) + ".jsonl" }

// CheckMetadata checks the metadata records of a file and keeps their results while they are made, so that the
// results of many take no memory.
func CheckMetadata(ctx context.Context, to *payload.Source, b domain.BatchID, data []byte, formats []metadata.Format, most int) (list domain.MetadataRecords, err error) {
	results, w := io.Pipe()
	ended := make(chan struct{})
	var counts metadata.Counts
	go func() {
		defer close(ended)
		lines := json.NewEncoder(w)
		var err error
		counts, err = metadata.Check(bytes.NewReader(data), formats, metadata.Limits{MaxBytes: int64(len(data)), MaxRecords: most},
			func(r metadata.Record) error { return lines.Encode(r) })
		_ = w.CloseWithError(err) // it returns no other
	}()
	err = to.InTime(ctx, int64(len(data)), "keep the results of the records", string(b), func(ctx context.Context) error {
		kept, err := to.Objects.Put(ctx, MetadataKey(b), results)
		list.URL, list.SHA256 = store.URL(kept.Key), kept.SHA256
		return err
	})
	_ = results.CloseWithError(io.ErrClosedPipe) // else a store that stopped reading would keep the check waiting
	<-ended
	list.Success, list.Warning, list.Failure = counts.Success, counts.Warning, counts.Failure
	return list, err
}

// ReadMetadataRecords reads the records of a metadata deposit for its report.
func ReadMetadataRecords(ctx context.Context, from *payload.Source, b domain.BatchID) (*MetadataRecords, error) {
	r := &MetadataRecords{URL: store.URL(MetadataKey(b))}
	err := from.InTime(ctx, 0, "read the results of the records", string(b), func(ctx context.Context) error {
		list, err := from.Objects.Get(ctx, MetadataKey(b))
		if err != nil {
			return err
		}
		defer func() { _ = list.Close() }()
		return r.read(list)
	})
	if err != nil {
		return nil, fmt.Errorf("the records of %s: %w", b, err)
	}
	return r, nil
}

// read counts the records of a list, and keeps the worst of them.
func (r *MetadataRecords) read(list io.Reader) error {
	var counts metadata.Counts
	worst := metadata.Worst{Max: maxMailJobs}
	lines := json.NewDecoder(list)
	for {
		var record metadata.Record
		if err := lines.Decode(&record); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
		counts.Add(record.Outcome)
		worst.Add(record)
	}
	r.Success, r.Warning, r.Failure, r.Worst = counts.Success, counts.Warning, counts.Failure, worst.List()
	return nil
}

// write adds the records to a mail.
func (r *MetadataRecords) write(b *strings.Builder) {
	all := r.Success + r.Warning + r.Failure
	fmt.Fprintf(b, "\nRecords: %d = %d Success + %d Warning + %d Failure\n", all, r.Success, r.Warning, r.Failure)
	shownOnes := 0
	for _, record := range r.Worst {
		if b.Len() > maxMailBytes {
			break
		}
		shownOnes++
		fmt.Fprintf(b, "  %s  line %d  %s\n", record.Outcome, record.Line, shown.Line(strings.Join(strings.Fields(record.Identifier+"  "+record.Title), " ")))
		for _, m := range record.Messages {
			fmt.Fprintf(b, "    %s\n", shown.Line(m))
		}
	}
	if more := all - shownOnes; more > 0 {
		fmt.Fprintf(b, "  and %d more: see the whole report\n", more)
	}
}
