package audit

import (
	"context"
	"fmt"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/consistency"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/projections/query"
)

// listings compares what open directories have listed with the files that became known there.
func (c *checker) listings(ctx context.Context) error {
	if c.Servers.DB == nil {
		return nil
	}
	faults, err := query.Tables{DB: c.Servers.DB}.Listings(ctx)
	if err != nil {
		return err
	}
	for _, f := range faults {
		if err := c.listing(ctx, f); err != nil {
			return err
		}
	}
	return nil
}

// listing reports what is wrong with one row.
func (c *checker) listing(ctx context.Context, f query.ListingFault) error {
	code, want := consistency.ListingWrong, "the file that became known there"
	subject := domain.FileHash(f.RawFileHash).Aggregate()
	switch f.Fault {
	case query.FaultMissing:
		code, want = consistency.ListingMissing, f.RawFileHash
	case query.FaultUnknown:
		known, err := c.inLog(ctx, subject)
		if known || err != nil {
			return err // the tables are behind
		}
		code = consistency.ListingUnknown
	}
	where := fmt.Sprintf("directory_listing %s: %s", f.Discovery, f.Path)
	c.found(consistency.NewFinding(code, subject.String(), where, want, f.Found, func(ctx context.Context) error { return c.relist(ctx, f) }))
	return nil
}

// relist makes a row again as its file became known by the log; the row of a path under which
// none did is removed.
func (c *checker) relist(ctx context.Context, f query.ListingFault) error {
	if of := domain.FileHash(f.Known).Aggregate(); f.Known != "" {
		for r, err := range c.Servers.Log.Read(ctx, eventstore.ReadOptions{Aggregate: &of}) {
			if err != nil {
				return fmt.Errorf("read the history of %s: %w", of, err)
			}
			found, is := r.Data.(*domain.FileFound)
			if !is {
				break
			}
			return c.Records.RestoreListed(ctx, f.Discovery, f.Path, listed(found.File), r.Stored)
		}
	}
	return c.Records.RestoreListed(ctx, f.Discovery, f.Path, nil, time.Time{})
}

// listed returns a file as its directory listed it when it became known.
func listed(s domain.FileSpec) *record.Listed {
	l := record.Listed{Path: s.Path, Hash: s.Hash(), URL: s.URL}
	if s.Size > 0 {
		l.Size = &s.Size
	}
	if !s.Modified.IsZero() {
		l.Modified = &s.Modified.Time
	}
	return &l
}
