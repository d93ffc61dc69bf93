package store

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/accession-ingest/accession/domain"
)

// OfBatch is the name of the warnings about the manifest of a batch; those about the
// manifest of one object have the id of its job.
const OfBatch = "batch"

// warningsPrefix returns the prefix of the keys of a batch's warnings.
func warningsPrefix(b domain.BatchID) string { return "warnings/" + string(b) + "/" }

// KeepWarnings keeps what was not taken as it is written in a manifest of a batch, for
// its reports.
func (s *Store) KeepWarnings(ctx context.Context, b domain.BatchID, of string, warnings []string) error {
	data, err := json.Marshal(warnings)
	if err == nil {
		_, err = s.Put(ctx, warningsPrefix(b)+of+".json", bytes.NewReader(data))
	}
	return err
}

// Warnings returns the warnings about the manifests of a batch, by what they are of.
func (s *Store) Warnings(ctx context.Context, b domain.BatchID) (map[string][]string, error) {
	all := map[string][]string{}
	for info, err := range s.List(ctx, warningsPrefix(b)) {
		if err != nil {
			return nil, fmt.Errorf("list the warnings of %s: %w", b, err)
		}
		warnings, err := s.warnings(ctx, info.Key)
		if err != nil {
			return nil, fmt.Errorf("%s cannot be read: %w", info.Key, err)
		}
		all[strings.TrimSuffix(path.Base(info.Key), ".json")] = warnings
	}
	return all, nil
}

func (s *Store) warnings(ctx context.Context, key string) (list []string, err error) {
	r, err := s.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	err = json.Unmarshal(data, &list)
	return list, err
}
