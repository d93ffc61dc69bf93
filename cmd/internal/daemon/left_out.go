package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain"
)

// leftOutPrefix is where the names of files are kept that objects were made
// without, by batch.
func leftOutPrefix(b domain.BatchID) string { return "left-out/" + string(b) + "/" }

// keepLeftOut keeps the names of the files that the object is about to be made
// without, for the report. An earlier attempt may have left out others.
func (s *steps) keepLeftOut(ctx context.Context, j domain.Job, w workFiles) error {
	var names []string
	for i, f := range w.files {
		if w.leftOut(i) {
			names = append(names, f.Name)
		}
	}
	key := leftOutPrefix(j.Configuration.BatchID) + string(j.ID) + ".json"
	if names == nil {
		if j.RetryCount == 0 {
			return nil
		}
		err := s.cfg.Objects.Delete(ctx, key)
		if store.CodeOf(err) == store.CodeNotFound {
			return nil
		}
		return err
	}
	data, err := json.Marshal(names)
	if err == nil {
		_, err = s.cfg.Objects.Put(ctx, key, bytes.NewReader(data))
	}
	return err
}

// leftOut gives the names of the files that the objects of a batch were made
// without, by job.
func (s *steps) leftOut(ctx context.Context, b domain.BatchID) (map[domain.JobID][]string, error) {
	all := map[domain.JobID][]string{}
	for info, err := range s.cfg.Objects.List(ctx, leftOutPrefix(b)) {
		if err != nil {
			return nil, fmt.Errorf("list the files left out: %w", err)
		}
		data, err := s.kept(ctx, info.Key)
		if err != nil {
			return nil, err
		}
		var names []string
		if err := json.Unmarshal(data, &names); err != nil {
			return nil, fmt.Errorf("%s cannot be read: %w", info.Key, err)
		}
		all[domain.JobID(strings.TrimSuffix(path.Base(info.Key), ".json"))] = names
	}
	return all, nil
}
