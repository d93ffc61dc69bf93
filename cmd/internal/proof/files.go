package proof

import (
	"fmt"
	"maps"
	"slices"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections"
)

// filesAtOnce is how many files are read from the tables in one question.
const filesAtOnce = 1000

// filesInTables compares each file's row with its history. ZooKeeper holds none.
func (c *comparer) filesInTables() error {
	for ids := range slices.Chunk(slices.Sorted(maps.Keys(c.files)), filesAtOnce) {
		rows, err := projections.LoadFiles(c.ctx, c.db, ids)
		if err != nil {
			return fmt.Errorf("read files from postgres: %w", err)
		}
		found := make(map[domain.FileHash]domain.File, len(rows))
		for _, row := range rows {
			found[row.Hash] = row
		}
		for _, id := range ids {
			row, ok := found[id]
			err = nil
			if !ok {
				err = projections.ErrNotFound
			}
			if err := c.same(id.Aggregate(), "postgres", c.files[id], row, err); err != nil {
				return err
			}
		}
	}
	return nil
}
