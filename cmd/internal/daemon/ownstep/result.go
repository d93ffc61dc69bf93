package ownstep

import (
	"encoding/json"
	"slices"

	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/domain/entry"
)

// FileName is the metadata file of a version that has the results of its own steps.
const FileName = "accession-steps.json"

// Result is what a worker has made of a step, for some files of a version.
type Result struct {
	Step       string          `json:"step"`
	Entry      compute.ID      `json:"entry"`
	Worker     string          `json:"worker"`
	Attempt    int             `json:"attempt"`
	Files      []string        `json:"files"` // in the order in which the worker had them
	ExitStatus int             `json:"exit_status"`
	SHA256     string          `json:"sha256"` // of the result as the worker wrote it
	Result     json.RawMessage `json:"result"`
	// Outputs are the files that the worker left beside the result; they are not of the version.
	Outputs []entry.Output `json:"outputs,omitempty"`
}

// Described returns the metadata file with the results, none = no file. If the version is
// stored already, that is an attempt was interrupted after its last write, its file is kept:
// the entries may have left the compute queue since, and were made again.
func Described(stored *store.StorageManifest, results []Result) ([]store.File, error) {
	if stored != nil {
		i := slices.IndexFunc(stored.Files, func(f store.StoredFile) bool { return f.Kind == store.KindSystem && f.Name == FileName })
		if i < 0 {
			return nil, nil
		}
		f := stored.Files[i]
		return []store.File{{Kind: f.Kind, Name: f.Name, Size: f.Size, SHA256: f.SHA256, MimeType: f.MimeType, Key: f.Key}}, nil
	}
	if len(results) == 0 {
		return nil, nil
	}
	data, err := json.MarshalIndent(struct {
		Steps []Result `json:"steps"`
	}{results}, "", "  ")
	return []store.File{store.SystemFile(FileName, "application/json", append(data, '\n'))}, err
}
