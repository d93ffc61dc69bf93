package repocheck

import (
	"testing"
	"testing/fstest"
)

func TestGlossary(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ row, types, want string }{
		{"| **batch** | a thing | `domain.Batch` | `accession.batch` | `batch` |", "type Batch int", ""},
		{"| **batch** | a thing | `domain.Batch` | | |", "type Batches int; type Batch int", "the type Batches has the word \"batches\""},
		{"| **batch**, **job** | a thing | `domain.Batch` | | |", "type Batch int; type BatchJobs int; type other int", ""},
		{"| **batch** | a thing | `domain.Batch` | | |", "type Batch int; type BatchPlace int", "the type BatchPlace has the word \"place\""},
		{"| **batch** | a thing | `domain.Batch` | | |", "type batch int", "docs/glossary.md:1: there is no domain.Batch"},
		{"| **batch** | a thing | | `accession.heap` | |", "type Batch int", "there is no accession.heap"},
		{"| **batch** | a thing | | | `heap` |", "type Batch int", "there is no heap"},
		{"| **batch** | a place | | | |\n\n## Other words of names\n\nstate, id.", "type BatchState int; type ID int", ""},
		{"| **batch** | a thing | | | |\n| **batch** | another | | | |", "type Batch int", "docs/glossary.md:2: \"batch\" is in line 1 already"},
		{"A state is a thing.\n| **batch** | a place | | | |", "type BatchState int", "the type BatchState"},
	} {
		root := tree("domain/a.go", "", c.types)
		root[glossaryPage] = &fstest.MapFile{Data: []byte(c.row)}
		root["migrations/a.sql"] = &fstest.MapFile{Data: []byte("create table accession.batch ()")}
		root["docs/cli.md"] = &fstest.MapFile{Data: []byte("accession batch list")}
		one(t, CheckGlossary, root, c.want)
	}
}
